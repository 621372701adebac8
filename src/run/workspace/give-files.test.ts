import assert from "node:assert/strict";
import { chownSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { giveFiles } from "./hibernate.ts";

const OWNER = { uid: 61_234, gid: 61_234 };
const skip = process.getuid?.() !== 0 && "Only root can give files to others.";

describe("giveFiles()", { skip }, () => {
  it("changes the owner of the files and the folders above them, and follows no link", async () => {
    await using folder = await SampleFolder.create();
    const tree = join(folder.path, "tree");
    const outside = join(folder.path, "outside");
    mkdirSync(join(tree, "a/b"), { recursive: true });
    writeFileSync(outside, "");
    writeFileSync(join(tree, "a/b/file"), "");
    writeFileSync(join(tree, "a/other"), "");
    symlinkSync(outside, join(tree, "link"));
    chownSync(tree, OWNER.uid, OWNER.gid);
    await giveFiles(tree, ["a/b/file", "link", "gone"], OWNER);
    const owners = ["tree", "tree/a", "tree/a/b", "tree/a/b/file", "tree/link"];
    for (const path of owners)
      assert.equal(lstatSync(join(folder.path, path)).uid, OWNER.uid, path);
    for (const path of ["outside", "tree/a/other"]) {
      assert.equal(lstatSync(join(folder.path, path)).uid, 0, path);
    }
  });
});
