import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempDisposableSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { RunUsers } from "./run-users.ts";

const open = () => mkdtempDisposableSync(join(tmpdir(), "users-"));
const workspaces = Array.from({ length: 50 }, (_, at) => `workspace${at}`);

describe("RunUsers", () => {
  it("gives no two workspaces the same user, even if their searches begin at the same number", () => {
    using folder = open();
    const users = new RunUsers(folder.path, { first: 1_000, count: 50 });
    const ids = workspaces.map((workspace) => users.of(workspace).uid);
    assert.equal(new Set(ids).size, 50);
    assert.ok(ids.every((id) => id >= 1_000 && id < 1_050));
    assert.throws(() => users.of("another"), /all 50 are in use\. Delete sessions/);
  });

  it("gives a workspace the same user after a restart, even if others were freed since", () => {
    using folder = open();
    const range = { first: 1_000, count: 50 };
    const users = new RunUsers(folder.path, range);
    const ids = workspaces.map((workspace) => users.of(workspace).uid);
    for (const workspace of workspaces.slice(0, 25)) users.free(workspace);
    const again = new RunUsers(folder.path, range);
    assert.deepEqual(
      workspaces.slice(25).map((workspace) => again.of(workspace).uid),
      ids.slice(25),
    );
    assert.ok(ids.slice(0, 25).includes(again.of("another").uid));
  });

  it("gives a workspace another user in another folder", () => {
    using one = open();
    using other = open();
    const uids = [one, other].map(({ path }) => new RunUsers(path).of("workspace").uid);
    assert.notEqual(uids[0], uids[1]);
  });

  it("stores nothing about a freed workspace", () => {
    using folder = open();
    const users = new RunUsers(folder.path);
    users.of("one");
    users.free("one");
    users.free("one");
    assert.deepEqual(readdirSync(folder.path), []);
  });

  it("recovers if a process was killed between the two links", () => {
    using folder = open();
    const { uid } = new RunUsers(folder.path).of("one");
    rmSync(join(folder.path, "of-one"));
    assert.equal(new RunUsers(folder.path).of("one").uid, uid);
    rmSync(join(folder.path, String(uid)));
    symlinkSync("other", join(folder.path, String(uid)));
    new RunUsers(folder.path).free("one");
    assert.deepEqual(readdirSync(folder.path), [String(uid)], "what is somebody else's stays");
  });

  it("can be used by many processes at once", async () => {
    using folder = open();
    const script = `
      import { RunUsers } from ${JSON.stringify(join(import.meta.dirname, "run-users.ts"))};
      const users = new RunUsers(${JSON.stringify(folder.path)}, { first: 1_000, count: 60 });
      const names = process.argv.slice(1);
      console.log(JSON.stringify(names.map((name) => [name, users.of(name).uid])));`;
    const ask = async (names: string[]): Promise<[string, number][]> => {
      const args = ["--input-type=module-typescript", "--eval", script, "--", ...names];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      return JSON.parse(stdout) as [string, number][];
    };
    const [one, other] = await Promise.all([ask(workspaces), ask(workspaces.toReversed())]);
    assert.deepEqual(other.toReversed(), one);
    assert.equal(new Set(one.map(([, id]) => id)).size, 50);
  });
});
