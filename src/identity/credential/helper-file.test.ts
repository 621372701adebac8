import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { describe, it } from "node:test";

import { SampleIdentities } from "../../../test/samples/sample-identities.ts";
import { helperFile, writeHelperFile } from "./helper-command.ts";

describe("writeHelperFile()", () => {
  it("gives every switched repository our helper, and only it, until the file is removed", async () => {
    using sample = new SampleIdentities();
    sample.run("config", "--global", "credential.helper", "own");
    const path = helperFile(`${sample.home}/data`, "work");
    await sample.switch("work", { helperFile: path });
    const helpers = () => sample.run("config", "--get-all", "credential.helper").split("\n");
    assert.deepEqual(helpers(), ["own"]);
    await writeHelperFile(sample.git, path, "!'ours' \"x\"");
    assert.deepEqual(helpers(), ["own", "", "!'ours' \"x\""]);
    assert.equal(sample.config("credential.useHttpPath"), "true");
    await rm(path);
    assert.deepEqual(helpers(), ["own"]);
    await writeHelperFile(sample.git, path, "!ours");
    await sample.switch("home");
    assert.deepEqual(helpers(), ["own"]);
  });
});
