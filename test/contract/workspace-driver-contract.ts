import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { WorkspaceDriver } from "../../src/run/workspace/driver.ts";

const isRoot = process.getuid?.() === 0;

/** A folder on which one driver is tried. */
class Rig implements AsyncDisposable {
  readonly folder: string;
  readonly driver: WorkspaceDriver & Partial<AsyncDisposable>;
  readonly base: string;

  constructor(folder: string, driver: WorkspaceDriver) {
    this.folder = folder;
    this.driver = driver;
    this.base = join(folder, "base");
    mkdirSync(join(this.base, "sub"), { recursive: true });
    writeFileSync(join(this.base, "sub/file"), "base");
    writeFileSync(join(this.base, "tool"), "#!/bin/sh\n", { mode: 0o755 });
  }

  open(name: string, more: Partial<Parameters<WorkspaceDriver["open"]>[0]> = {}): Promise<string> {
    const folder = join(this.folder, name);
    return this.driver.open({ layers: [this.base], folder, owner: undefined, ...more });
  }

  close(name: string): Promise<void> {
    return this.driver.close(join(this.folder, name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of readdirSync(this.folder)) await this.close(name);
    await this.driver[Symbol.asyncDispose]?.();
    await rm(this.folder, { recursive: true });
  }
}

/** What every driver of workspaces promises. `skip` says why one cannot be had here. */
export function workspaceDriverContract(
  name: WorkspaceDriver["name"],
  make: () => WorkspaceDriver,
  skip: string | false,
): void {
  describe(`the driver '${name}'`, { skip }, () => {
    const rig = async () => new Rig(await mkdtemp(join(tmpdir(), "drivers-")), make());

    it("begins with the content of the base, including modes", async () => {
      await using it = await rig();
      const tree = await it.open("one");
      assert.equal(readFileSync(join(tree, "sub/file"), "utf8"), "base");
      assert.equal(statSync(join(tree, "tool")).mode & 0o777, 0o755);
    });

    it("keeps changes out of the base and of other workspaces", async () => {
      await using it = await rig();
      const [one, two] = [await it.open("one"), await it.open("two")];
      writeFileSync(join(one, "sub/file"), "changed");
      await rm(join(one, "tool"));
      assert.equal(readFileSync(join(two, "sub/file"), "utf8"), "base");
      assert.equal(readFileSync(join(it.base, "sub/file"), "utf8"), "base");
      assert.ok(existsSync(join(two, "tool")));
    });

    it("keeps the changes when it is opened again", async () => {
      await using it = await rig();
      writeFileSync(join(await it.open("one"), "new"), "1");
      await it.close("one");
      const tree = await it.open("one");
      assert.equal(readFileSync(join(tree, "new"), "utf8"), "1");
      // As after a crash, when nobody has closed it.
      assert.equal(readFileSync(join(await it.open("one"), "new"), "utf8"), "1");
    });

    it("lets an upper layer cover a lower one", async () => {
      await using it = await rig();
      const upper = join(it.folder, "upper");
      mkdirSync(join(upper, "sub"), { recursive: true });
      writeFileSync(join(upper, "sub/file"), "prepared");
      const tree = await it.open("one", { layers: [upper, it.base] });
      assert.equal(readFileSync(join(tree, "sub/file"), "utf8"), "prepared");
      assert.ok(existsSync(join(tree, "tool")));
    });

    const notRoot = !isRoot && "Only root can give files away.";
    it("makes a user the owner of all files", { skip: notRoot }, async () => {
      await using it = await rig();
      const owner = { uid: 271_828, gid: 271_828 };
      const tree = await it.open("one", { owner });
      assert.equal(statSync(join(tree, "sub/file")).uid, owner.uid);
      execFileSync("chmod", ["711", it.folder, join(it.folder, "one")]);
      const line = `echo mine > ${join(tree, "sub/file")} && touch ${join(tree, "new")}`;
      execFileSync("setpriv", [
        "--reuid=271828",
        "--regid=271828",
        "--clear-groups",
        "sh",
        "-c",
        line,
      ]);
      assert.equal(readFileSync(join(tree, "sub/file"), "utf8"), "mine\n");
      assert.equal(statSync(join(tree, "new")).uid, owner.uid);
    });

    it("opens many at once", async () => {
      await using it = await rig();
      const names = Array.from({ length: 20 }, (_, index) => `many-${index}`);
      const trees = await Promise.all(names.map((each) => it.open(each)));
      for (const tree of trees) assert.ok(existsSync(join(tree, "sub/file")));
    });
  });
}
