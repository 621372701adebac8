import { createHash } from "node:crypto";
import { constants, statSync } from "node:fs";
import { lstat, open, readdir, readlink } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { PluginPin } from "../../config/schema/schema.gen.ts";
import { approving, codePaths } from "./permissions.ts";
import type { PluginSettings } from "./settings.ts";

// As the configuration has it: `capability.ts` declares it.
export type { PluginPin };

/** Programs that run the code in a file. */
const RUNNERS = /^(?:node|nodejs|bun|deno|python[\d.]*|ruby|perl|php|lua|sh|bash)$/;

/** Options of theirs whose value is the next word: a file there is not the plugin's. */
const VALUED =
  /^(?:-[rCIWX]|--(?:require|import|(?:experimental-)?loader|preload|conditions|env-file(?:-if-exists)?|config|tsconfig|import-map))$/;

/** The file with the code of a command; undefined where it is a program of the system, or fetched. */
export function codeFile(words: readonly string[], cwd = "/"): string | undefined {
  const [command = "", ...args] = words;
  const isRun = RUNNERS.test(basename(command));
  const isNamed = (each: string, at: number): boolean =>
    !each.startsWith("-") && each !== "run" && !VALUED.test(args[at - 1] ?? "");
  const word = isRun ? args.find(isNamed) : command;
  if (word === undefined || (!isRun && !word.includes("/"))) return undefined;
  const file = resolve(cwd, word);
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true ? file : undefined;
}

/** The approved version of a plugin's code; undefined if it has no file to compare. */
export async function pinOf(
  settings: PluginSettings,
  version?: string,
): Promise<PluginPin | undefined> {
  const file = settings.code;
  if (file === undefined) return undefined;
  return { ...(version === undefined ? {} : { version }), sha256: await digestOf(file) };
}

/** Throws "untrusted" where a plugin is not the one that was approved. */
export async function checkPin(settings: PluginSettings): Promise<void> {
  const { id, pin } = settings;
  if (pin === undefined || (await pinOf(settings))?.sha256 === pin.sha256) return;
  const version = pin.version === undefined ? "it" : `version ${visibleLine(pin.version)}`;
  const says = `Its files have changed since ${version} was approved. Look at them`;
  throw new TrunklineError("untrusted", `${says}. ${approving(id)}.`);
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Files and bytes of a package. */
const MOST_FILES = 20_000;
const MOST_BYTES = 256 * 1024 * 1024;
/** Bytes that are read and added at once: other work goes on between two. */
const PIECE = 1024 * 1024;

/**
 * The checksum of a file with its package, except for what is installed for it and hidden files. Links are
 * not followed: where they lead to counts.
 */
async function digestOf(file: string): Promise<string> {
  const [own = file] = codePaths(file);
  const hash = createHash("sha256");
  let left = MOST_BYTES;
  let count = 0;
  const add = async (path: string): Promise<void> => {
    const status = await lstat(path);
    if (++count > MOST_FILES) throw tooLarge(own);
    if (status.isDirectory()) {
      const names = (await readdir(path)).filter((name) => !/^(?:\.|node_modules$)/.test(name));
      for (const name of names.toSorted()) await add(join(path, name));
      return;
    }
    const isLink = status.isSymbolicLink();
    if (!isLink && !status.isFile()) return;
    const head = [relative(own, path), isLink, status.mode & 0o111];
    const begin = (length: number) => hash.update(`${JSON.stringify([...head, length])}\n`);
    if (isLink) {
      const target = Buffer.from(await readlink(path));
      begin(target.length).update(target);
      return;
    }
    // It may have become a link or a pipe since.
    await using opened = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const { size } = await opened.stat();
    left -= size;
    if (left < 0) throw tooLarge(own);
    begin(size);
    const whole = { autoClose: false, highWaterMark: PIECE, end: Math.max(0, size - 1) };
    for await (const bytes of opened.createReadStream(whole)) hash.update(bytes as Buffer);
  };
  await add(own);
  return hash.digest("hex");
}

function tooLarge(path: string): TrunklineError {
  const says = `Cannot compute the checksum of '${path}': it has more than ${MOST_FILES} files, or 256 MiB`;
  return new TrunklineError("unavailable", `${says}. Put the plugin into a folder of its own`);
}
