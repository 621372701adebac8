import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { diskUse } from "./disk-use.ts";

describe("diskUse()", () => {
  it("agrees with du", async () => {
    await using folder = await SampleFolder.create();
    mkdirSync(join(folder.path, "a/b"), { recursive: true });
    writeFileSync(join(folder.path, "a/b/file"), Buffer.alloc(300_000, "x"));
    writeFileSync(join(folder.path, "empty"), "");
    symlinkSync("/", join(folder.path, "root"));
    const du = execFileSync("du", ["-sk", folder.path], { encoding: "utf8" });
    assert.equal(await diskUse(folder.path), Number.parseInt(du, 10) * 1024);
  });
});
