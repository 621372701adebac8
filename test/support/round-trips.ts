import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { sampleConfig } from "../samples/sample-config.ts";
import { applyPlan } from "../../src/identity/switch/apply.ts";
import { HOME, SampleIdentities, WORK } from "../samples/sample-identities.ts";
import { sampleSshConfig } from "../samples/sample-ssh-config.ts";
import { planSync } from "../../src/identity/identities.ts";
import { SeededRandom } from "./seeded-random.ts";

const SOME = ["work", "home"] as const;

const FILES = [
  ".gitconfig",
  ".config/git/config",
  ".ssh/config",
  "app/.git/config",
  "app/.git/config.worktree",
  "app/.git/worktrees/linked/config.worktree",
];

/** Every file that may be changed, byte for byte. */
function snapshot(sample: SampleIdentities): Record<string, string | undefined> {
  return Object.fromEntries(
    FILES.map((file) => {
      const path = join(sample.home, file);
      return [file, existsSync(path) ? readFileSync(path, "latin1") : undefined];
    }),
  );
}

/** Puts generated files in the place of those of the last time. */
function scatter(sample: SampleIdentities, chance: SeededRandom): void {
  for (const file of FILES) rmSync(join(sample.home, file), { force: true });
  const put = (file: string, bytes: Buffer): void => {
    const path = join(sample.home, file);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, bytes);
  };
  put("app/.git/config", sampleConfig(chance));
  if (!chance.once(3)) put(".gitconfig", sampleConfig(chance));
  if (chance.once(4)) put(".config/git/config", sampleConfig(chance));
  if (!chance.once(4)) put(".ssh/config", sampleSshConfig(chance));
}

async function roundTrip(sample: SampleIdentities, chance: SeededRandom): Promise<void> {
  scatter(sample, chance);
  const before = snapshot(sample);
  const folder = chance.once(2) ? sample.path : join(sample.home, "linked");
  const names = Array.from({ length: 1 + chance.below(2) }, () => chance.pick(SOME));
  const ids: string[] = [];
  for (const name of names) {
    const options = { global: chance.once(4), rewriteRemotes: chance.once(2) };
    const { id } = await sample.switch(name, options, folder);
    if (id !== undefined) ids.push(id);
    if (options.global) continue;
    assert.equal(sample.config("trunkline.identity", folder), name);
    assert.equal(sample.config("user.email", folder), sample.find(name).email);
  }
  if (chance.once(3)) {
    const { env } = sample;
    const options = { env, folder: join(sample.home, "included") };
    const { id } = await applyPlan(sample.journal, sample.git, () => {
      return planSync(sample.identities, sample.git, options);
    });
    if (id !== undefined) ids.push(id);
  }
  assert.ok(ids.length > 0);
  for (const id of ids.toReversed()) await sample.undo({ id });
  assert.deepEqual(snapshot(sample), before);
  // Only to be quick: what is past need not be read again.
  rmSync(sample.journal.path);
}

/**
 * Switches to identities and back in so many homes, whose configurations of git and ssh are made up,
 * and asserts that every switch is in force and every byte comes back.
 */
export async function roundTrips(count: number, first = 1): Promise<void> {
  using sample = new SampleIdentities({
    work: { ...WORK, match: [{ path: "~/work" }] },
    home: { ...HOME, signing: { format: "openpgp", key: "ABC", signTags: true } },
  });
  sample.commit();
  sample.addWorktree("linked");
  for (let seed = first; seed < first + count; seed++) {
    try {
      await roundTrip(sample, new SeededRandom(seed));
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
  const leftOver = readdirSync(sample.home, { recursive: true, encoding: "utf8" });
  assert.deepEqual(
    leftOver.filter((name) => /\.trunkline-|\.lock$/.test(name)),
    [],
  );
}
