import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { recoverIfNeeded } from "./recover.ts";
import { SampleIdentities } from "./sample-identities.ts";

/** Far more than any of these takes. */
const MOST_STEPS = 100;

/** Does something in a process that is killed before its n-th step. True when it came to the end. */
async function killedAt(step: number, sample: SampleIdentities, work: string): Promise<boolean> {
  const program = `
    import fs from "node:fs/promises";
    import { syncBuiltinESMExports } from "node:module";
    let left = ${step};
    const names = ["open", "rename", "link", "rm", "unlink", "chmod", "mkdir"];
    for (const name of names) {
      const original = fs[name];
      fs[name] = (...args) => {
        left--;
        if (left === 0) process.kill(process.pid, "SIGKILL");
        return original(...args);
      };
    }
    syncBuiltinESMExports();
    const { Identities } = await import("${join(import.meta.dirname, "../gateway/identities.ts")}");
    const identities = new Identities(${JSON.stringify({
      config: {
        data: join(sample.home, "data"),
        identities: Object.fromEntries(sample.identities.map((each) => [each.name, each.settings])),
      },
      env: sample.env,
      cwd: sample.path,
    })});
    ${work}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    env: sample.env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [said, [code]] = await Promise.all([
    text(child.stderr),
    once(child, "exit") as Promise<[number | null]>,
  ]);
  if (code !== null) assert.equal(code, 0, said);
  return code === 0;
}

/** All that a switch may touch. */
function snapshot(sample: SampleIdentities): Record<string, string> {
  const files = ["app/.git/config", "app/.git/config.worktree"];
  const found = readdirSync(join(sample.path, ".git"));
  return Object.fromEntries(
    files
      .filter((file) => found.includes(file.slice("app/.git/".length)))
      .map((file) => [file, sample.read(file).toString()]),
  );
}

/** Kills it at every step there is, and checks what the next start makes of it. */
async function killAtEachStep(
  kind: "switch" | "undo",
  prepare: (sample: SampleIdentities) => Promise<void>,
  work: string,
): Promise<Set<string>> {
  const outcomes = new Set<string>();
  for (let step = 1; step < MOST_STEPS; step++) {
    using sample = new SampleIdentities();
    sample.commit();
    // With several work trees, a switch changes two files.
    sample.addWorktree("linked");
    sample.run("remote", "add", "origin", "https://github.com/acme/app");
    await prepare(sample);
    const before = snapshot(sample);
    const isDone = await killedAt(step, sample, work);
    const recovery = await recoverIfNeeded(sample.journal);
    const after = snapshot(sample);
    outcomes.add(recovery?.outcome ?? (isDone ? "done" : "nothing to do"));
    const leftOver = readdirSync(join(sample.path, ".git")).filter((name) => {
      return /trunkline|\.lock$/.test(name);
    });
    assert.deepEqual(leftOver, [], `step ${step}`);
    if (recovery?.outcome === "rolled-back") assert.deepEqual(after, before, `step ${step}`);
    if (recovery?.outcome === "finished") assert.notDeepEqual(after, before, `step ${step}`);
    if (recovery === undefined && !isDone) {
      const entry = (await sample.journal.entries()).at(-1);
      // It came to nothing, or was killed after all was written down.
      const isChanged = JSON.stringify(after) !== JSON.stringify(before);
      assert.equal(isChanged, entry?.outcome === "done" && entry.kind === kind, `step ${step}`);
    }
    // Whatever came of it, the next one works, and can be undone.
    sample.run("status");
    const now = snapshot(sample);
    await sample.switch(sample.config("trunkline.identity") === "home" ? "work" : "home");
    await sample.undo();
    assert.deepEqual(snapshot(sample), now, `step ${step}`);
    if (isDone) return outcomes;
  }
  throw new Error(`It was not done after ${MOST_STEPS} steps`);
}

describe("a switch that is killed", { timeout: 280_000 }, () => {
  it("is rolled back or finished at the next start, at whatever step it was", async () => {
    const outcomes = await killAtEachStep(
      "switch",
      async () => {},
      `await identities.switch("work", ".", { rewriteRemotes: true });`,
    );
    assert.deepEqual([...outcomes].toSorted(), [
      "done",
      "finished",
      "nothing to do",
      "rolled-back",
    ]);
  });

  it("is so too when it was an undo", async () => {
    const outcomes = await killAtEachStep(
      "undo",
      async (sample) => {
        await sample.switch("work", { rewriteRemotes: true });
      },
      `await identities.undo(".", {});`,
    );
    assert.ok(outcomes.has("rolled-back") && outcomes.has("finished") && outcomes.has("done"));
  });

  it("says what it did, and leaves what others have changed since", async () => {
    using sample = new SampleIdentities();
    const lines = `await identities.switch("work", ".");`;
    let step = 1;
    let recovery: Awaited<ReturnType<typeof recoverIfNeeded>>;
    do {
      await killedAt(step, sample, lines);
      step++;
      await appendFile(join(sample.path, ".git/config"), "# by hand\n");
      recovery = await recoverIfNeeded(sample.journal);
    } while (recovery === undefined && step < MOST_STEPS);
    assert.match(recovery?.says ?? "", /^A switch to identity 'work' in .* was broken off/);
    assert.deepEqual(recovery?.left, [join(sample.path, ".git/config")]);
    assert.match(sample.read("app/.git/config").toString(), /# by hand/);
  });
});

describe("Journal", { timeout: 60_000 }, () => {
  it("goes on after a line that was broken off", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    await sample.switch("work");
    await appendFile(sample.journal.path, '{"event":"begin","id":"torn","files":[{"pa');
    assert.equal(await recoverIfNeeded(sample.journal), undefined);
    await sample.switch("home");
    await sample.undo();
    await sample.undo();
    assert.deepEqual(sample.read("app/.git/config"), before);
  });

  it("is for its owner's eyes only, and forgets what is long past", async () => {
    using sample = new SampleIdentities();
    const padding = `# ${"x".repeat(40_000)}\n`;
    await appendFile(join(sample.path, ".git/config"), padding);
    for (let count = 0; count < 70; count++) await sample.switch(count % 2 ? "home" : "work");
    const { statSync } = await import("node:fs");
    const { size, mode } = statSync(sample.journal.path);
    assert.equal(mode & 0o777, 0o600);
    assert.ok(size < 9 * 1024 * 1024, String(size));
    const entries = await sample.journal.entries();
    assert.ok(entries.length >= 50 && entries.every(({ outcome }) => outcome === "done"));
    await sample.undo();
  });
});
