import assert from "node:assert/strict";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { ServerRepository } from "../../../test/support/server-repository.ts";
import { lockIn, passLock } from "./stale-lock.ts";

describe("lockIn()", () => {
  it("finds the lock that git names, and only in the folder that is ours", () => {
    const says = (path: string): string => `fatal: Unable to create '${path}': File exists.\n`;
    assert.equal(lockIn("/g", says("/g/index.lock")), "/g/index.lock");
    assert.equal(lockIn("/g", says("/g/refs/heads/x.lock")), "/g/refs/heads/x.lock");
    assert.equal(lockIn("/g", says("/g/../tree/index.lock")), undefined);
    assert.equal(lockIn("/g", says("/other/index.lock")), undefined);
    assert.equal(lockIn("/g", says("/g/index")), undefined);
    assert.equal(lockIn("/g", "fatal: bad object"), undefined);
  });
});

describe("passLock()", () => {
  it("removes a lock that nobody has any more", async () => {
    using repository = new ServerRepository();
    const lock = join(repository.git.gitDir, "index.lock");
    writeFileSync(lock, "");
    await passLock(lock, 10);
    assert.ok(!existsSync(lock));
  });
});

describe("ServerGit", () => {
  it("waits for the lock of another git", async () => {
    using repository = new ServerRepository();
    const lock = join(repository.git.gitDir, "index.lock");
    writeFileSync(lock, "");
    repository.write("new", "1");
    setTimeout(() => rmSync(lock), 50);
    await repository.git.run(["add", "--all"]);
    assert.match(repository.run("status", "--porcelain"), /^A {2}new$/m);
  });
});
