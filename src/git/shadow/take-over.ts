import { mkdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

import type { Confine } from "../../base/process/child-process.ts";
import { Git } from "../git.ts";
import { GITLINK, parseIndex } from "../index-entries.ts";
import { applyPlan, type Plan, type RefChange } from "./apply-plan.ts";
import { changedPaths } from "./merge-index.ts";
import { type Inside, parseLog, readInside } from "./read-inside.ts";
import { receiveObjects } from "./receive-objects.ts";
import { ID, refProblem, ZERO } from "./refs.ts";
import {
  changedFiles,
  fileIn,
  OPERATIONS,
  type Shadow,
  STATE_FILES,
  stateFiles,
} from "./shadow-folder.ts";

const MOST_INDEX = 1024 * 1024 * 1024;

/** Takes over what a command did with git. Returns what was not taken over, in words. */
export async function takeOver(shadow: Shadow, confine: Confine): Promise<string[]> {
  const changed = changedFiles(shadow);
  if (changed.length === 0) return [];
  const { base, own, repository } = shadow;
  const notes: string[] = [];
  const index = fileIn(own, "index", MOST_INDEX);
  const before = parseIndex(base.index);
  const after = parseIndex(index);
  const paths = changedPaths(before, after);
  const isOnlyIndex = changed.every((path) => path.endsWith("/index"));
  if (isOnlyIndex && paths.length === 0) return [];
  const known = new Set(before.values().map(({ id }) => id));
  const blobs = paths
    .flatMap((path) => [0, 1, 2, 3].flatMap((stage) => after.get(`${path}\0${stage}`) ?? []))
    .filter(({ id, mode }) => mode !== GITLINK && !known.has(id))
    .map(({ id }) => id);
  const inside = await readInside(shadow, confine, { known: idsOf(shadow), needed: blobs });
  const refs = refChanges(shadow, inside, notes);
  const head = headChange(shadow, notes);
  const stash = stashChange(shadow, inside);
  const files = fileChanges(shadow);
  const wanted = new Set(
    [
      ...refs.map((ref) => ref.new),
      ...(head === undefined ? [] : [head.new]),
      ...stash.added.map(({ id }) => id),
      ...Object.values(files).flatMap((file) => file.new?.match(/^[0-9a-f]{40}/gm) ?? []),
      ...inside.log.map(({ id }) => id),
    ].filter((id) => ID.test(id) && id !== ZERO),
  );
  const fresh = [...wanted.difference(idsOf(shadow))];
  const tips = fresh.length > 0 ? fresh : blobs.slice(0, 1);
  const git = new Git(repository.top);
  const incoming =
    tips.length === 0 ? [] : await receiveObjects(git, repository.commonDir, inside.pack, tips);
  const plan: Plan = {
    ...{ top: repository.top, gitDir: repository.gitDir, commonDir: repository.commonDir },
    ...{ refs, stash, files, incoming, finished: finishedIn(shadow), hasIndex: paths.length > 0 },
    message: inside.log.at(-1)?.message ?? "trunkline: a command",
    ...(head === undefined ? {} : { head }),
  };
  const folder = join(shadow.work, "plan");
  mkdirSync(folder);
  if (base.index !== undefined) writeFileSync(join(folder, "base.index"), base.index);
  if (index !== undefined) writeFileSync(join(folder, "after.index"), index);
  writeFileSync(join(folder, "plan.json"), JSON.stringify(plan));
  notes.push(...(await applyPlan(plan, folder)));
  await rm(folder, { recursive: true, force: true });
  return notes;
}

/** The ids that the repository had already. */
function idsOf({ base }: Shadow): Set<string> {
  const head = ID.test(base.head) ? [base.head] : [];
  return new Set([...base.refs.ids.values(), ...parseLog(base.stash).map(({ id }) => id), ...head]);
}

function refChanges({ base }: Shadow, inside: Inside, notes: string[]): RefChange[] {
  const names = new Set([...base.refs.ids.keys(), ...inside.refs.keys()]);
  const changes: RefChange[] = [];
  for (const name of names) {
    const [old, id] = [base.refs.ids.get(name) ?? ZERO, inside.refs.get(name) ?? ZERO];
    if (old === id || name === "refs/stash" || inside.symbolic.has(name)) continue;
    const why = refProblem(name);
    if (why === undefined) changes.push({ name, old, new: id });
    else notes.push(`'${name.slice(0, 200)}' is not taken over: ${why}`);
  }
  return changes;
}

function headChange({ base, own }: Shadow, notes: string[]): Plan["head"] {
  const now = fileIn(own, "HEAD")?.toString("utf8").trim() ?? "";
  if (now === base.head) return undefined;
  const branch = /^ref: (refs\/heads\/.+)$/s.exec(now)?.[1];
  if (ID.test(now) || (branch !== undefined && refProblem(branch) === undefined)) {
    return { old: base.head, new: now };
  }
  notes.push("HEAD is not taken over: it names neither a branch nor a commit");
  return undefined;
}

function stashChange({ base }: Shadow, { stash }: Inside): Plan["stash"] {
  const before = parseLog(base.stash);
  const [old, now] = [new Set(before.map(({ id }) => id)), new Set(stash.map(({ id }) => id))];
  return {
    dropped: [...old.difference(now)],
    added: stash.filter(({ id }) => !old.has(id)),
  };
}

/** What the files of a merge and the like may hold. */
const CONTENT: Readonly<Record<string, RegExp>> = {
  MERGE_MODE: /^(?:no-ff)?\n?$/,
  MERGE_MSG: /^[^\0]*$/,
  SQUASH_MSG: /^[^\0]*$/,
  FETCH_HEAD: /^(?:[0-9a-f]{40}\t(?:not-for-merge)?\t[^\0\n]*\n)*$/,
};
const IDS = /^(?:[0-9a-f]{40}\n?)+$/;

function fileChanges({ base, own }: Shadow): Plan["files"] {
  const now = stateFiles(own);
  return Object.fromEntries(
    STATE_FILES.flatMap((name) => {
      const [old = null, content = null] = [base.files.get(name), now.get(name)];
      if (old === content) return [];
      if (content !== null && !(CONTENT[name] ?? IDS).test(content)) return [];
      return [[name, { old, new: content }] as const];
    }),
  );
}

/** Folders of operations that the repository had, and the command has finished. */
function finishedIn({ before, own, common }: Shadow): string[] {
  const folder = own === common ? "common" : "own";
  return OPERATIONS.filter((name) => {
    const had = [...before.keys()].some((path) => path.startsWith(`${folder}/${name}/`));
    return had && fileIn(own, `${name}/`, 0) === undefined;
  });
}
