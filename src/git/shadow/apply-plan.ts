import { linkSync, renameSync } from "node:fs";
import { open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../../base/errors.ts";
import { Git } from "../git.ts";
import { formatIndex, parseIndex } from "../index-entries.ts";
import { mergeIndex } from "./merge-index.ts";
import { type LogLine, parseLog } from "./read-inside.ts";
import { ID, readRefs, ZERO } from "./refs.ts";
import { fileIn } from "./shadow-folder.ts";

/** A ref, and what a command made of it. Zeros stand for a ref that is not there. */
export interface RefChange {
  readonly name: string;
  readonly old: string;
  readonly new: string;
}

/** What is to be changed in a repository after a command. Each step can be repeated. */
export interface Plan {
  readonly top: string;
  readonly gitDir: string;
  readonly commonDir: string;
  readonly refs: readonly RefChange[];
  /** The contents of HEAD. */
  readonly head?: { readonly old: string; readonly new: string };
  /** For reflogs. */
  readonly message: string;
  readonly stash: { readonly dropped: readonly string[]; readonly added: readonly LogLine[] };
  /** Contents as bytes, one character each; null for a file that is to be removed. */
  readonly files: Readonly<Record<string, { old: string | null; new: string | null }>>;
  /** Folders of operations that were finished. */
  readonly finished: readonly string[];
  readonly hasIndex: boolean;
  /** Refs that keep the new objects until this is done. */
  readonly incoming: readonly string[];
}

const ATTEMPTS = 5;
/** Milliseconds to wait for another git that has the index locked. */
const LOCKED = 10_000;
const INDEX = { most: 1024 * 1024 * 1024 };

/** Applies a plan. Returns what was not changed, in words. */
export async function applyPlan(plan: Plan, folder: string): Promise<string[]> {
  const { gitDir, commonDir, message } = plan;
  const git = new Git(plan.top);
  const notes: string[] = [];
  const lock = plan.hasIndex ? await takeLock(gitDir) : undefined;
  try {
    const { refused, words } = await moveRefs(git, plan);
    notes.push(...words);
    const isHeadMoved = await moveHead(git, plan, refused, notes);
    if (!isHeadMoved) {
      for (const [name, { old, new: content }] of Object.entries(plan.files)) {
        const now = fileIn(gitDir, name)?.toString("latin1") ?? null;
        if (now === old) await putFile(gitDir, name, content);
      }
      for (const name of plan.finished)
        await rm(join(gitDir, name), { recursive: true, force: true });
    }
    await changeStash(git, commonDir, plan.stash);
    if (lock !== undefined && !isHeadMoved) {
      const of = async (name: string) =>
        parseIndex(await readFile(join(folder, name)).catch(() => undefined));
      const current = parseIndex(fileIn(gitDir, "index", INDEX.most));
      const merged = mergeIndex(current, await of("base.index"), await of("after.index"));
      for (const [path, why] of merged.refused) notes.push(`'${path}' is not staged: ${why}`);
      if (merged.isChanged) await lock.replace(formatIndex(merged.entries.values()));
    }
    void message;
    return notes;
  } finally {
    await lock?.release();
  }
}

/** The lock of the index, as git takes it. */
async function takeLock(gitDir: string) {
  const lock = join(gitDir, "index.lock");
  const file = join(gitDir, `index.trunkline-${process.pid}`);
  await writeFile(file, "");
  const giveUp = performance.now() + LOCKED;
  for (;;) {
    try {
      // A link can be made by one only, and the file behind it tells whose lock it is.
      linkSync(file, lock);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || performance.now() > giveUp) {
        await rm(file, { force: true });
        throw new TrunklineError("conflict", `another git holds '${lock}'`, { cause: error });
      }
      await delay(20);
    }
  }
  let isOver = false;
  return {
    async replace(index: Buffer): Promise<void> {
      {
        await using handle = await open(file, "w");
        await handle.writeFile(index);
        await handle.sync();
      }
      renameSync(lock, join(gitDir, "index"));
      isOver = true;
    },
    async release(): Promise<void> {
      if (!isOver) await rm(lock, { force: true });
      await rm(file, { force: true });
    },
  };
}

/** Moves refs that nobody else has moved. Commits for the others are kept under refs of ours. */
async function moveRefs(
  git: Git,
  { commonDir, refs, incoming, message }: Plan,
): Promise<{ refused: Set<string>; words: string[] }> {
  for (let attempt = 1; ; attempt++) {
    const current = readRefs(commonDir);
    const refused = new Set<string>();
    const [words, lines]: [string[], string[]] = [[], []];
    for (const { name, old, new: id } of refs) {
      const now = current.ids.get(name) ?? ZERO;
      if (now === id) continue;
      if (now === old && !current.symbolic.has(name)) {
        lines.push(id === ZERO ? `delete ${name}\0${old}\0` : `update ${name}\0${id}\0${old}\0`);
        continue;
      }
      refused.add(name);
      const kept = `refs/trunkline/kept/${name.slice("refs/".length)}/${id.slice(0, 12)}`;
      const where = id === ZERO ? "" : `: the command's commit is kept as ${kept}`;
      words.push(`'${name}' was moved by somebody else meanwhile, and stays there${where}`);
      if (id !== ZERO && !current.ids.has(kept)) lines.push(`create ${kept}\0${id}\0`);
    }
    lines.push(
      ...incoming.filter((name) => current.ids.has(name)).map((name) => `delete ${name}\0\0`),
    );
    if (lines.length === 0) return { refused, words };
    try {
      const input = Buffer.from(lines.join(""));
      await git.run(["update-ref", "-m", message, "--stdin", "-z"], { mode: "files", input });
      return { refused, words };
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

/** Returns whether somebody else has moved HEAD, or the branch that it names. */
async function moveHead(
  git: Git,
  { gitDir, head, message }: Plan,
  refused: ReadonlySet<string>,
  notes: string[],
): Promise<boolean> {
  const now = fileIn(gitDir, "HEAD")?.toString("utf8").trim() ?? "";
  const branch = (text: string): string => text.replace(/^ref: /, "");
  if (refused.has(branch(head?.new ?? now))) return true;
  if (head === undefined || now === head.new) return false;
  if (now !== head.old) {
    notes.push("HEAD was moved by somebody else meanwhile, and stays there");
    return true;
  }
  if (ID.test(head.new)) {
    await git.run(["update-ref", "--no-deref", "-m", message, "HEAD", head.new], { mode: "files" });
  } else {
    await git.run(["symbolic-ref", "-m", message, "HEAD", branch(head.new)], { mode: "files" });
  }
  return false;
}

async function putFile(gitDir: string, name: string, content: string | null): Promise<void> {
  const path = join(gitDir, name);
  if (content === null) return rm(path, { force: true });
  await writeFile(`${path}.trunkline`, Buffer.from(content, "latin1"));
  await rename(`${path}.trunkline`, path);
}

async function changeStash(
  git: Git,
  commonDir: string,
  { dropped, added }: Plan["stash"],
): Promise<void> {
  const list = (): LogLine[] =>
    parseLog(fileIn(commonDir, "logs/refs/stash")?.toString("utf8") ?? "").toReversed();
  for (const id of dropped) {
    const at = list().findIndex((line) => line.id === id);
    if (at < 0) continue;
    const name = `refs/stash@{${at}}`;
    await git.run(["reflog", "delete", "--updateref", "--rewrite", name], { mode: "files" });
    if (list().length === 0) await git.run(["update-ref", "-d", "refs/stash"], { mode: "files" });
  }
  for (const { id, message } of added) {
    if (list().some((line) => line.id === id)) continue;
    await git.run(["update-ref", "--create-reflog", "-m", message, "refs/stash", id], {
      mode: "files",
    });
  }
}
