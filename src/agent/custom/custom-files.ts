import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";

import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { isInside } from "../files/workspace.ts";

/** A folder that may have `commands` and `skills`. */
export interface CustomRoot {
  readonly origin: "project" | "user";
  readonly folder: string;
  /** Links that lead out of this folder are not followed. Undefined for the user's own files. */
  readonly boundary?: string;
}

export interface FoundFile {
  /** Relative to the folder that was searched, with slashes. */
  readonly name: string;
  readonly path: string;
  readonly root: CustomRoot;
}

/** Characters of one file. */
export const LARGEST = 64 * 1024;
/** Entries of folders that one search looks at. */
const MOST_ENTRIES = 2_000;

const PROJECT_ROOTS = [".trunkline", ".agents", ".claude"];

/** Where commands and skills are looked for; the first that has a name counts. */
export function customRoots(cwd: string, user: readonly string[]): CustomRoot[] {
  return [
    ...PROJECT_ROOTS.map((name) => {
      return { origin: "project", folder: join(cwd, name), boundary: cwd } as const;
    }),
    ...user.map((folder) => ({ origin: "user", folder }) as const),
  ];
}

export interface SearchOptions {
  readonly depth: number;
  readonly most: number;
  readonly accepts: (name: string) => boolean;
}

/** The files below a folder of a root, in the order of their names; none if it is not there. */
export async function findFiles(
  root: CustomRoot,
  folder: string,
  { depth, most, accepts }: SearchOptions,
): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  let left = MOST_ENTRIES;
  const visit = async (path: string, prefix: string, levels: number): Promise<void> => {
    const real = await allowed(path, root);
    if (real === undefined) return;
    const names = await readdir(real).catch(() => []);
    for (const entry of names.toSorted((a, b) => (a < b ? -1 : 1))) {
      if (found.length >= most || --left < 0) return;
      const full = join(path, entry);
      const name = prefix + entry;
      if (accepts(name)) found.push({ name, path: full, root });
      else if (levels > 1 && (await isFolder(full))) await visit(full, `${name}/`, levels - 1);
    }
  };
  await visit(join(root.folder, folder), "", depth);
  return found;
}

/** The text of a file; undefined if it is not a readable text of a moderate size inside its boundary. */
export function readCustom(path: string, { boundary }: CustomRoot): string | undefined {
  try {
    const inside = boundary === undefined ? {} : { inside: [boundary] };
    const bytes = readRegularFile(path, { most: LARGEST, ...inside });
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return bytes === undefined || text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** The path without links, if it stays inside of the boundary. */
async function allowed(path: string, { boundary }: CustomRoot): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined || boundary === undefined) return real;
  const limit = await realpath(boundary).catch(() => boundary);
  return isInside(real, [limit]) ? real : undefined;
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}
