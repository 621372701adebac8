import assert from "node:assert/strict";
import { existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Stage } from "./stage.ts";

async function stage(width = 80, parent = tmpdir()) {
  const lines: string[] = [];
  const stop = new AbortController();
  const show = (line: string) => lines.push(line);
  const set = await Stage.set({ show, width, signal: stop.signal, parent });
  return { set, lines, stop };
}

describe("Stage", () => {
  it("shows each command as a person would type it, and some of what it prints", async () => {
    const { set, lines } = await stage(20);
    await using _ = set;
    const words = ["sh", "-c", "printf '1\\n2\\n3\\nlong long long long'"];
    assert.equal(await set.type(words, { cwd: ".", shown: 2 }), "1\n2\n3\nlong long long long");
    assert.equal(lines[0], "$ sh -c 'printf '\\'…");
    assert.deepEqual(lines.slice(1), ["  1", "  2", "  … 2 more lines"]);
  });

  it("fails with what a command printed if it ends otherwise than expected", async () => {
    const { set } = await stage();
    await using _ = set;
    const words = ["sh", "-c", "echo why >&2; exit 3"];
    await assert.rejects(set.type(words, { cwd: "." }), { message: /ended with 3, not 0: why$/ });
    await set.type(words, { cwd: ".", code: 3 });
  });

  it("gives the lines of a program that goes on, and ends it with itself", async () => {
    const { set } = await stage();
    const cat = await set.start(["cat"], ".");
    cat.send("hello");
    assert.equal(await cat.line(), "hello");
    const { folder } = set;
    assert.ok(existsSync(folder));
    await set[Symbol.asyncDispose]();
    assert.ok(!existsSync(folder));
    await assert.rejects(cat.line(), { message: /'cat' ended early/ });
  });

  it("starts nothing after it was stopped", async () => {
    const { set, stop } = await stage();
    await using _ = set;
    stop.abort(new Error("stopped"));
    await assert.rejects(set.type(["true"], { cwd: "." }), { message: "stopped" });
  });

  it("removes the folders of those that were killed, and no others", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-stages-"));
    const { set: running } = await stage(80, folder.path);
    await using _running = running;
    const make = (name: string, ...files: string[]): string => {
      const path = join(folder.path, name);
      mkdirSync(path);
      for (const file of files) {
        writeFileSync(join(path, file), "");
        utimesSync(join(path, file), 0, 0);
      }
      return path;
    };
    utimesSync(running.path("lock"), 0, 0);
    const killed = make("trunkline-demo-killed", "lock", "other");
    const kept = [make("trunkline-demo-kept", "other"), make("other", "lock"), running.folder];
    await using _next = (await stage(80, folder.path)).set;
    assert.ok(!existsSync(killed));
    for (const path of kept) assert.ok(existsSync(path), path);
  });

  it("says where no folder can be made", async () => {
    await assert.rejects(stage(80, "/no/such"), { message: /in '\/no\/such': no such.*TMPDIR/ });
  });
});
