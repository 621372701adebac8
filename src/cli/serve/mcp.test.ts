import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

describe("trunkline mcp", () => {
  it("refuses --certs-dir without --orchestrator-addr, before it sends anything", async () => {
    await using line = await SampleCommandLine.create();
    const { code, out, err } = await line.run("mcp", "--certs-dir", "certs");
    assert.deepEqual([code, out], [2, ""]);
    assert.match(err, /Cannot use '--certs-dir': .* Add '--orchestrator-addr'\./);
  });
});
