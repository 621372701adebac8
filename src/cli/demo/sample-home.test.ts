import assert from "node:assert/strict";
import { existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "./sample-home.ts";

async function sample(parent = tmpdir()) {
  const stop = new AbortController();
  const home = await SampleHome.make({ signal: stop.signal, parent });
  return { home, stop };
}

describe("SampleHome", () => {
  it("fails with what a command said if it fails", async () => {
    const { home } = await sample();
    await using _ = home;
    await home.run(["sh", "-c", "touch made"]);
    assert.ok(existsSync(home.path("app", "made")));
    const words = ["sh", "-c", "echo why >&2; exit 3"];
    await assert.rejects(home.run(words), { message: /ended with 3: why$/ });
  });

  it("gives the lines of a program that goes on, and ends it with itself", async () => {
    const { home } = await sample();
    const cat = await home.start(["cat"]);
    cat.send("hello");
    assert.equal(await cat.line(), "hello");
    const { folder } = home;
    assert.ok(existsSync(folder));
    await home[Symbol.asyncDispose]();
    assert.ok(!existsSync(folder));
    await assert.rejects(cat.line(), { message: /'cat' ended early/ });
  });

  it("starts nothing after it was stopped", async () => {
    const { home, stop } = await sample();
    await using _ = home;
    stop.abort(new Error("stopped"));
    await assert.rejects(home.run(["true"]), { message: "stopped" });
  });

  it("removes the folders of those that were killed, and no others", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-samples-"));
    const { home: running } = await sample(folder.path);
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
    await using _next = (await sample(folder.path)).home;
    assert.ok(!existsSync(killed));
    for (const path of kept) assert.ok(existsSync(path), path);
  });

  it("says where no folder can be made", async () => {
    await assert.rejects(sample("/no/such"), { message: /in '\/no\/such': no such.*TMPDIR/ });
  });
});
