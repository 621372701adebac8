import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, statSync, symlinkSync } from "node:fs";
import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleIdentities } from "../../../test/samples/sample-identities.ts";
import { bytesOf, readCurrent } from "./file-change.ts";

describe("changing files", { timeout: 120_000 }, () => {
  it("writes to the user's own file if asked, through links, with its permissions", async () => {
    using sample = new SampleIdentities();
    sample.write("dotfiles/gitconfig", "[alias]\n\tst = status\n");
    chmodSync(join(sample.home, "dotfiles/gitconfig"), 0o640);
    symlinkSync("dotfiles/gitconfig", join(sample.home, ".gitconfig"));
    const before = sample.read("app/.git/config");
    await sample.switch("work", { global: true });
    assert.ok(lstatSync(join(sample.home, ".gitconfig")).isSymbolicLink());
    assert.equal(statSync(join(sample.home, "dotfiles/gitconfig")).mode & 0o777, 0o640);
    assert.equal(sample.config("user.email", sample.home), "ada@acme.example");
    assert.deepEqual(sample.read("app/.git/config"), before);
    await sample.undo({});
    assert.equal(sample.read("dotfiles/gitconfig").toString(), "[alias]\n\tst = status\n");
  });

  it("refuses anything that is not a regular file", async () => {
    using sample = new SampleIdentities();
    const env = { ...sample.env, GIT_CONFIG_GLOBAL: "/dev/null" };
    const switched = sample.switch("work", { global: true, env });
    await assert.rejects(switched, /Cannot change '\/dev\/null': it is not a regular file/);
    assert.ok(statSync("/dev/null").isCharacterDevice());
    const pipe = join(sample.path, "pipe");
    execFileSync("mkfifo", [pipe]);
    await assert.rejects(readCurrent(pipe, 0o600), /pipe': it is not a regular file/);
    assert.throws(() => bytesOf(pipe), /Cannot read '.*pipe': it is not a regular file/);
  });

  it("waits for git's own lock", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    const lock = sample.write("app/.git/config.lock", "");
    setTimeout(() => rmSync(lock), 50);
    await sample.switch("work");
    assert.equal(sample.config("user.email"), "ada@acme.example");
    await sample.undo();
    assert.deepEqual(sample.read("app/.git/config"), before);
  });
});
