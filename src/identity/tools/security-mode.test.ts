import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { SecurityModes } from "./security-mode.ts";

describe("SecurityModes", () => {
  it("is the strict one if the stored mode cannot be read", async () => {
    await using folder = await SampleFolder.create();
    const modes = new SecurityModes(folder.path);
    assert.equal(await modes.get(), "developer_workflow");
    await modes.set("developer_workflow");
    assert.equal(await modes.get(), "developer_workflow");
    for (const text of ["", "null", '{"mode":"other"}']) {
      writeFileSync(join(folder.path, "identity/security-mode.json"), text);
      assert.equal(await modes.get(), "maximum_security");
    }
  });
});
