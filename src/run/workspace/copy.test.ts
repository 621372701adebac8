import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempDisposableSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { workspaceDriverContract } from "../../../test/contract/workspace-driver-contract.ts";
import { canReflink, CopyDriver } from "./copy.ts";

const noReflink = !(await canReflink(tmpdir())) && "The file system cannot share blocks.";
workspaceDriverContract("copy", () => new CopyDriver("copy"), false);
workspaceDriverContract("reflink", () => new CopyDriver("reflink"), noReflink);

describe("CopyDriver", () => {
  it("does not mistake an interrupted copy for a tree", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "copy-"));
    const [base, folder] = [join(home.path, "base"), join(home.path, "one")];
    mkdirSync(base);
    writeFileSync(join(base, "file"), "whole");
    mkdirSync(join(folder, "unfinished"), { recursive: true });
    writeFileSync(join(folder, "unfinished/half"), "");
    const tree = await new CopyDriver("copy").open({ layers: [base], folder, owner: undefined });
    assert.deepEqual(readdirSync(tree), ["file"]);
  });

  it("says why it cannot copy, and leaves no tree", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "copy-"));
    const folder = join(home.path, "one");
    const request = { layers: [join(home.path, "none")], folder, owner: undefined };
    await assert.rejects(new CopyDriver("copy").open(request), {
      code: "unavailable",
      message: /^Cannot copy the base: cp: cannot stat/,
    });
    assert.equal(existsSync(join(folder, "tree")), false);
  });
});

describe("canReflink()", () => {
  it("leaves nothing in the folder, and is false if there is none", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "copy-"));
    await canReflink(home.path);
    assert.deepEqual(readdirSync(home.path), []);
    assert.equal(await canReflink(join(home.path, "none")), false);
  });
});
