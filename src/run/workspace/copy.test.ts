import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempDisposableSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { BECOME_OTHER_USER, noOtherUser, sharedFolder } from "../../../test/support/other-user.ts";
import { workspaceDriverContract } from "../../../test/contract/workspace-driver-contract.ts";
import { canReflink, CopyDriver } from "./copy.ts";

const NO_REFLINK = "The file system cannot share blocks: set TMPDIR to a folder on Btrfs or XFS.";
const noReflink = !(await canReflink(tmpdir())) && NO_REFLINK;
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

  it("reports why it cannot copy, and leaves no tree", async () => {
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

describe("removeTree()", () => {
  it("removes read-only folders, even if we are not root", { skip: noOtherUser }, () => {
    using home = sharedFolder();
    const folder = join(home.path, "go/pkg");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "file"), "");
    // Only their owner may remove them, and root always may.
    execFileSync("chown", ["-R", "65534:65534", home.path]);
    execFileSync("chmod", ["-R", "a-w", join(home.path, "go")]);
    const copy = pathToFileURL(join(import.meta.dirname, "copy.ts")).href;
    const code = `
      const { removeTree } = await import(${JSON.stringify(copy)});
      ${BECOME_OTHER_USER}
      await removeTree(${JSON.stringify(join(home.path, "go"))});`;
    execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: "/" });
    assert.deepEqual(readdirSync(home.path), []);
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
