import { access, open, readdir, readFile, rm, rmdir } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { isInside, makeFolder } from "../../base/file/path.ts";
import { shellWord } from "../../base/text/shell-word.ts";
import { VERSION } from "../../base/version.ts";
import { scaffoldFiles } from "./scaffold-files.ts";

/** It becomes the id of a plugin and the name of a package. */
const NAME = /^(?!ca$|node_modules$)[a-z0-9][a-z0-9._-]{0,99}$/;

/**
 * Begins a plugin in a folder that is empty or not there yet. Returns what to do next, in words.
 * The plugin uses the copy of Trunkline that made it, so both are of the same version.
 */
export async function scaffoldPlugin(
  folder: string,
  name: string,
  program = "trunkline",
): Promise<string> {
  const path = resolve(folder);
  if (!NAME.test(name)) {
    const form = "small letters, digits, '.', '_' and '-', such as 'tools.greet'";
    throw new TrunklineError("usage", `Cannot name a plugin '${name}': use ${form}.`);
  }
  const found = await contentsOf(path);
  if (found.length > 0) {
    const shown = found.slice(0, 3).join(", ");
    const what = `it is not empty (${shown}${found.length > 3 ? ", …" : ""})`;
    throw new TrunklineError("usage", `Cannot make a plugin in '${path}': ${what}. Name another.`);
  }
  const { isSea } = process.getBuiltinModule("node:sea");
  // The standalone executable has no folder that npm could install from.
  const trunkline = isSea() ? `^${VERSION}` : `file:${await ownPackage()}`;
  await makeAll(path, scaffoldFiles({ name, folder: path, node: process.execPath, trunkline }));
  return nextSteps(path, name, program);
}

/** Makes all files or none: a folder that is not empty could not be used for the next attempt. */
async function makeAll(path: string, files: Iterable<readonly [string, string]>): Promise<void> {
  const made: string[] = [];
  let first: string | undefined;
  try {
    first = makeFolder(path);
    for (const [name, text] of files) {
      // Files that somebody else has created meanwhile are kept.
      await using file = await open(join(path, name), "wx");
      made.push(join(path, name));
      await file.writeFile(text);
    }
  } catch (error) {
    await removeMade(made, path, first).catch(() => {});
    throw cannotMake(path, error);
  }
}

/** Removes files, and the folders from one up to the first that was made for them. */
async function removeMade(
  files: readonly string[],
  last: string,
  first: string | undefined,
): Promise<void> {
  for (const file of files) await rm(file, { force: true });
  if (first === undefined) return;
  for (let folder = last; isInside(folder, first); folder = dirname(folder)) await rmdir(folder);
}

async function contentsOf(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw cannotMake(path, error);
  }
}

/** The package that this program is part of, whether it runs from its sources or was built. */
async function ownPackage(): Promise<string> {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const file = join(folder, "package.json");
    const isThere = await access(file).then(
      () => true,
      () => false,
    );
    if (isThere) {
      const { name } = JSON.parse(await readFile(file, "utf8")) as { name?: string };
      if (name === "trunkline") return folder;
    }
    if (dirname(folder) === folder) {
      throw new TrunklineError("config", "Cannot find the folder that trunkline is installed in");
    }
  }
}

function nextSteps(path: string, name: string, program: string): string {
  return `Made the plugin '${name}' in ${path}. Next:

  cd ${shellWord(relative(process.cwd(), path) || ".")}
  npm install
  npm test
  ${program} plugin dev .

It needs Node 26.1 or later. README.md says more.
`;
}

function cannotMake(path: string, cause: unknown): TrunklineError {
  const why = fileWords(cause, path);
  return new TrunklineError("config", `Cannot make a plugin in '${path}': ${why}`, { cause });
}
