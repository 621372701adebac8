import assert from "node:assert/strict";
import { cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import fs, { appendFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";

import { recoverIfNeeded } from "./apply.ts";
import { SampleIdentities } from "../../../test/samples/sample-identities.ts";

/** Far more than any of these takes. */
const MOST_STEPS = 100;

/** Calls that change a disk; with each begins a step. */
const CALLS = ["open", "rename", "link", "rm", "unlink", "chmod", "mkdir"] as const;

/**
 * Does something that is cut off before its n-th step: from then on nothing reaches the disk, as if
 * it had been killed there. True when it came to the end. The tests of the
 * program kill it.
 */
async function cutOffAt(step: number, work: () => Promise<unknown>): Promise<boolean> {
  const originals = { ...fs };
  let left = step;
  for (const name of CALLS) {
    const original = originals[name] as (...args: unknown[]) => Promise<unknown>;
    Object.assign(fs, {
      [name]: async (...args: unknown[]) => {
        left--;
        if (left <= 0) throw new Error("cut off");
        return await original(...args);
      },
    });
  }
  syncBuiltinESMExports();
  try {
    await work();
  } catch (error) {
    if (left > 0) throw error;
  } finally {
    Object.assign(fs, originals);
    syncBuiltinESMExports();
  }
  return left > 0;
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

/** All that the next change can see: the files, and the journal but for its ids and times. */
async function stateOf(sample: SampleIdentities): Promise<string> {
  const entries = await sample.journal.entries();
  const ids = entries.map(({ id }) => id);
  const changes = entries.map(({ undoes = "", ...rest }) => {
    return { ...rest, id: undefined, at: undefined, undoes: ids.indexOf(undoes) };
  });
  const data = join(sample.home, "data");
  const names = existsSync(data) ? readdirSync(data, { recursive: true, encoding: "utf8" }) : [];
  return JSON.stringify([snapshot(sample), changes, names.toSorted()]);
}

/** Cuts it off at every step there is, and checks what the next start makes of it. */
async function cutOffAtEachStep(
  kind: "switch" | "undo",
  prepare: (sample: SampleIdentities) => Promise<void>,
  work: (sample: SampleIdentities) => Promise<unknown>,
): Promise<Set<string>> {
  const outcomes = new Set<string>();
  using sample = new SampleIdentities();
  sample.commit();
  // With several work trees, a switch changes two files.
  sample.addWorktree("linked");
  sample.run("remote", "add", "origin", "https://github.com/acme/app");
  await prepare(sample);
  const before = snapshot(sample);
  const [data, kept] = [join(sample.home, "data"), join(sample.home, "kept")];
  if (existsSync(data)) cpSync(data, kept, { recursive: true });
  const tried = new Set<string>();
  for (let step = 1; step < MOST_STEPS; step++) {
    rmSync(join(sample.path, ".git/config.worktree"), { force: true });
    for (const [file, text] of Object.entries(before)) sample.write(file, text);
    rmSync(data, { recursive: true, force: true });
    if (existsSync(kept)) cpSync(kept, data, { recursive: true });
    const isDone = await cutOffAt(step, () => work(sample));
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
      // It came to nothing, or was cut off after all was written down.
      const isChanged = JSON.stringify(after) !== JSON.stringify(before);
      assert.equal(isChanged, entry?.outcome === "done" && entry.kind === kind, `step ${step}`);
    }
    // Whatever came of it, the next one works, and can be undone. Once for each state is enough.
    const state = await stateOf(sample);
    if (!tried.has(state)) {
      tried.add(state);
      await sample.switch(sample.config("trunkline.identity") === "home" ? "work" : "home");
      await sample.undo();
      assert.deepEqual(snapshot(sample), after, `step ${step}`);
    }
    if (isDone) return outcomes;
  }
  throw new Error(`It was not done after ${MOST_STEPS} steps`);
}

describe("a switch that is interrupted", { timeout: 600_000 }, () => {
  it("is rolled back or finished at the next start, whichever step it was at", async () => {
    const outcomes = await cutOffAtEachStep(
      "switch",
      async () => {},
      (sample) => sample.switch("work", { rewriteRemotes: true }),
    );
    assert.deepEqual([...outcomes].toSorted(), [
      "done",
      "finished",
      "nothing to do",
      "rolled-back",
    ]);
  });

  it("is recovered too if it was an undo", async () => {
    const outcomes = await cutOffAtEachStep(
      "undo",
      async (sample) => {
        await sample.switch("work", { rewriteRemotes: true });
      },
      (sample) => sample.undo(),
    );
    assert.ok(outcomes.has("rolled-back") && outcomes.has("finished") && outcomes.has("done"));
  });

  it("reports what was done, and keeps what others have changed since", async () => {
    using sample = new SampleIdentities();
    let step = 1;
    let recovery: Awaited<ReturnType<typeof recoverIfNeeded>>;
    do {
      await cutOffAt(step, () => sample.switch("work"));
      step++;
      await appendFile(join(sample.path, ".git/config"), "# by hand\n");
      recovery = await recoverIfNeeded(sample.journal);
    } while (recovery === undefined && step < MOST_STEPS);
    assert.match(recovery?.says ?? "", /^A switch to identity 'work' in .* was interrupted/);
    assert.deepEqual(recovery?.left, [join(sample.path, ".git/config")]);
    assert.match(sample.read("app/.git/config").toString(), /# by hand/);
  });
});
