import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { probeSandbox } from "../../src/sandbox/probe.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { promptOf } from "../support/acp-socket.ts";
import { openingOf, RunRig } from "../support/remote-run/run-rig.ts";

const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");
const notRoot = process.getuid?.() !== 0 && "Only root can mount a small file system.";

describe(
  "remote runs on a small disk",
  { timeout: 600_000, skip: WITHOUT_SSHD || noSandbox },
  () => {
    it(
      "go on after the disk was full: the call fails in words, and the branch has everything",
      { skip: notRoot },
      async () => {
        using disk = new SmallDisk(64);
        await using run = await RunRig.start({ env: { TRUNKLINE_DATA: disk.folder } });
        const project = run.project("disk");
        using ide = await run.connect();
        const { sessionId: other } = await ide.ask("session/new", openingOf(project));
        const { sessionId } = await ide.ask("session/new", openingOf(project));
        const first = await ide.ask("session/prompt", promptOf(sessionId, "put one.txt|1|0"));
        assert.equal(first._meta.trunkline.run, "pushed");
        // The log of the database may have some room, so that another writer is the first to fail.
        const isFull = /disk is full\. Free some space|ENOSPC|no space left/i;
        // One agent fills the disk in its turn. Its session fails, and so do those that want to write.
        const filling = "run w|sh|-c|head -c 200M /dev/zero >big.bin; echo 2 >two.txt";
        const { result, error } = await ide.answer("session/prompt", promptOf(other, filling));
        if (error === undefined) assert.notEqual(result._meta.trunkline.run, "pushed");
        else assert.match(error.message, isFull);
        disk.fill();
        const third = promptOf(sessionId, "put three.txt|3|0");
        await assert.rejects(ide.ask("session/prompt", third), isFull);
        await assert.rejects(ide.ask("session/new", openingOf(project)), isFull);
        // What needs no space works: another client is let in, and can delete the session.
        using another = await run.connect();
        const { sessions } = await another.ask("session/list", {});
        assert.equal(sessions.length, 2);
        await another.ask("session/delete", { sessionId: other });
        const end = await ide.ask("session/prompt", third);
        assert.equal(end._meta.trunkline.run, "pushed");
        const { branch } = end._meta.target;
        const inBare = (...args: string[]): string =>
          project.git("--git-dir", project.bare, ...args);
        const files = inBare("ls-tree", "--name-only", branch).split("\n");
        assert.deepEqual(files, ["README.md", "one.txt", "three.txt"]);
        assert.equal(inBare("rev-list", "--count", `main..${branch}`), "2");
      },
    );
  },
);

/** A small file system, which can be filled up. */
class SmallDisk implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-disk-"));

  constructor(megabytes: number) {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", this.folder]);
  }

  fill(): void {
    const file = openSync(join(this.folder, "ballast"), "a");
    for (let size = 1 << 20; size > 0; size >>= 1) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size));
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
      }
    }
    closeSync(file);
  }

  [Symbol.dispose](): void {
    execFileSync("umount", ["--lazy", this.folder]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
