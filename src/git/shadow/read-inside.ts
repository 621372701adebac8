import { lstatSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import type { Confiner } from "../../base/process/child-process.ts";
import { runProgram } from "../run-program.ts";
import { ID } from "./git-files.ts";
import { PLAIN, type Shadow } from "./shadow-folder.ts";

/** The state of a command's git folder, as reported by git inside the sandbox. None of it is trusted. */
export interface ShadowContent {
  readonly refs: ReadonlyMap<string, string>;
  /** Symbolic refs. */
  readonly symbolic: ReadonlyMap<string, string>;
  /** The reflog of the stash, and the lines that were added to the reflog of HEAD. */
  readonly stash: readonly LogLine[];
  readonly log: readonly LogLine[];
  readonly config: ReadonlyMap<string, string>;
  /** The new objects. */
  readonly pack: string;
}

/** A line of a reflog. */
export interface LogLine {
  readonly old: string;
  readonly id: string;
  /** Name, address and time. */
  readonly who: string;
  readonly message: string;
}

const PACK = "trunkline.pack";
/** Bytes of text, milliseconds, and bytes of a file that is no object. */
const [MOST_TEXT, TIMEOUT] = [64 * 1024 * 1024, 120_000];
const MOST_FILE = 64 * 1024 * 1024;

/**
 * Runs in the sandbox, because the folder is not trusted. Its input is the list of needed ids, and of
 * known ids with a "^" before them.
 */
const SCRIPT = `export GIT_DIR="$1"
cd "$GIT_DIR" && git rev-parse --git-dir >/dev/null || exit
git for-each-ref --format='%(objectname) %(refname) %(symref)' || exit
printf '\\0'
cat "$2/logs/refs/stash" 2>/dev/null
printf '\\0'
tail -c "+$3" logs/HEAD 2>/dev/null
printf '\\0'
git config --file "$2/config" --no-includes --list -z
{
  cat
  git for-each-ref --format='%(objectname)'
  git rev-parse --verify --quiet HEAD
  cat MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD ORIG_HEAD 2>/dev/null
  cut -d ' ' -f 2 "$2/logs/refs/stash" 2>/dev/null
  tail -c "+$3" logs/HEAD 2>/dev/null | cut -d ' ' -f 2
} | git cat-file --batch-check='%(rest)%(objectname)' | grep -v ' missing$' |
  git pack-objects --revs --stdout -q >"$2/${PACK}"
`;

/** Throws if the git folder cannot be read. The message is for the model. */
export async function readInside(
  shadow: Shadow,
  confine: Confiner,
  ids: { readonly known: Iterable<string>; readonly needed: Iterable<string> },
): Promise<ShadowContent> {
  requireFiles(shadow);
  const { gitDir, commonDir } = shadow.repository;
  const input = [
    ...Array.from(new Set(ids.known), (id) => `${id} ^\n`),
    ...Array.from(new Set(ids.needed), (id) => `${id}\n`),
  ].join("");
  const env = { PATH: process.env.PATH, LC_ALL: "C", ...UNCONFIGURED };
  const args = ["-c", SCRIPT, "sh", gitDir, commonDir, String(shadow.base.logSize + 1)];
  const inside = confine({ command: "/bin/sh", args, env, cwd: "/" });
  const { code, stdout, stderr } = await runProgram({
    ...{ command: inside.command, args: inside.args ?? [], env: inside.env, input },
    ...{ files: inside.files, cwd: inside.cwd ?? "/", timeout: TIMEOUT, maxOutput: MOST_TEXT },
  });
  if (code !== 0) {
    const [line = `it ended with ${code}`] = stderr.trim().split("\n");
    throw new TrunklineError("untrusted", `git cannot read its git folder: ${line.slice(0, 200)}`);
  }
  const [refs = "", stash = "", log = "", ...config] = stdout.toString("utf8").split("\0");
  return {
    ...parseRefs(refs),
    stash: parseLog(stash),
    log: parseLog(log),
    config: new Map(config.filter(Boolean).map(keyAndValue)),
    pack: join(shadow.common, PACK),
  };
}

const UNCONFIGURED = {
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
};

/** Rejects pipes and endless files: git would wait for them forever. */
function requireFiles({ common, own }: Shadow): void {
  const folders = own === common ? [common] : [common, own];
  const queue = [...folders];
  for (let count = 0; count < queue.length; count++) {
    const at = queue[count] ?? "";
    const stats = lstatSync(at);
    if (stats.isDirectory()) queue.push(...readdirSync(at).map((name) => join(at, name)));
    else if (!stats.isFile() && !(stats.isSymbolicLink() && isOther(at, folders))) {
      throw unfit("a link, a pipe or the like");
    }
    if (
      stats.isFile() &&
      stats.size > MOST_FILE &&
      !/^\/(?:objects\/|lfs\/|index$)/.test(at.slice(common.length))
    ) {
      throw unfit(`a file of ${stats.size} bytes`);
    }
  }
}

/** Whether a link is at the top of a git folder, and does not replace a file that our git reads. */
function isOther(path: string, folders: readonly string[]): boolean {
  return folders.includes(dirname(path)) && !PLAIN.has(basename(path));
}

function unfit(what: string): TrunklineError {
  return new TrunklineError("untrusted", `it has left ${what} in its git folder`);
}

function parseRefs(text: string): Pick<ShadowContent, "refs" | "symbolic"> {
  const refs = new Map<string, string>();
  const symbolic = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [id = "", name = "", target = ""] = line.split(" ");
    if (!ID.test(id)) continue;
    if (target === "") refs.set(name, id);
    else symbolic.set(name, target);
  }
  return { refs, symbolic };
}

/** `OLD NEW NAME <EMAIL> TIME ZONE<TAB>MESSAGE` */
const LINE =
  /^([0-9a-f]{40}) ([0-9a-f]{40}) ([^\p{Cc}<>]*<[^\p{Cc}<>]*> \d+ [+-]\d{4})(?:\t(.*))?$/u;

export function parseLog(text: string): LogLine[] {
  return text.split("\n").flatMap((line) => {
    const [, old, id, who, message = ""] = LINE.exec(line) ?? [];
    if (old === undefined || id === undefined || who === undefined) return [];
    return [{ old, id, who, message: plainMessage(message) }];
  });
}

const LONGEST_MESSAGE = 1_000;

function plainMessage(message: string): string {
  return message.replaceAll(/\p{Cc}/gu, " ").slice(0, LONGEST_MESSAGE);
}

function keyAndValue(entry: string): [string, string] {
  const end = entry.indexOf("\n");
  return end < 0 ? [entry, "true"] : [entry.slice(0, end), entry.slice(end + 1)];
}
