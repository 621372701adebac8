import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../test/samples/sample-home.ts";

describe("environmentLayer()", () => {
  for (const name of ["TRUNKLINE_VERBOSE", "REMOTE_JUGGLER_VERBOSE"]) {
    it(`${name} turns log.verbose on`, async () => {
      await using home = await SampleHome.create();
      const on = await home.load({ env: { [name]: "1" } });
      assert.equal(on.config.log.verbose, true);
      assert.deepEqual(on.origins.get("log.verbose"), { kind: "environment", where: name });
      for (const value of ["0", "false", ""]) {
        assert.equal((await home.load({ env: { [name]: value } })).config.log.verbose, false);
      }
    });
  }

  it("treats empty variables as not set", async () => {
    await using home = await SampleHome.create();
    const env = { TRUNKLINE_DATA: "", TRUNKLINE_CONFIG: "", TRUNKLINE_SERVE_PORT: "" };
    const { config } = await home.load({ env });
    assert.equal(config.data, home.data);
    assert.equal(config.serve.port, 4180);
  });
});
