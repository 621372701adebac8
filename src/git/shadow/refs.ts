import { readdirSync } from "node:fs";
import { join } from "node:path";

import { readRegularFile } from "../../base/file/read-regular-file.ts";

/** Bytes of all packed refs, and of one file. */
const [MOST_PACKED, MOST_LOOSE] = [256 * 1024 * 1024, 4 * 1024];

export const ID = /^[0-9a-f]{40}$/;
export const ZERO = "0".repeat(40);

/** The refs of a git folder that only we and the person write. */
export interface Refs {
  readonly ids: ReadonlyMap<string, string>;
  /** Refs that name others, such as `refs/remotes/origin/HEAD`. */
  readonly symbolic: ReadonlyMap<string, string>;
}

/** Reads all refs, without git: this is done before each command. Throws for what is not as git writes it. */
export function readRefs(folder: string): Refs {
  const ids = new Map<string, string>();
  const symbolic = new Map<string, string>();
  const packed = read(folder, "packed-refs", MOST_PACKED) ?? "";
  for (const line of packed.split("\n")) {
    if (line === "" || line.startsWith("#") || line.startsWith("^")) continue;
    ids.set(line.slice(41), requireId(line.slice(0, 40), line.slice(41)));
  }
  for (const name of filesIn(folder, "refs")) {
    const content = (read(folder, name, MOST_LOOSE) ?? "").trimEnd();
    if (content.startsWith("ref: ")) symbolic.set(name, content.slice("ref: ".length));
    // An empty file is what a machine leaves that stopped while git wrote it.
    else if (content !== "") ids.set(name, requireId(content, name));
  }
  return { ids, symbolic };
}

/** As git packs them, without the targets of tags, which git then looks up. */
export function formatPackedRefs({ ids }: Refs): string {
  const names = [...ids.keys()].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `# pack-refs with: sorted \n${names.map((name) => `${ids.get(name)} ${name}\n`).join("")}`;
}

function requireId(id: string, name: string): string {
  if (ID.test(id)) return id;
  throw new Error(`its ref '${name.slice(0, 100)}' is not as git writes it`);
}

function read(folder: string, name: string, most: number): string | undefined {
  return readRegularFile(join(folder, name), { most, followsLinks: false })?.toString("utf8");
}

function filesIn(folder: string, name: string): string[] {
  return readdirSync(join(folder, name), { withFileTypes: true }).flatMap((entry) => {
    const path = `${name}/${entry.name}`;
    if (entry.isDirectory()) return filesIn(folder, path);
    if (entry.isFile()) return path.endsWith(".lock") ? [] : [path];
    throw new Error(`'${path}' in it is neither a file nor a folder`);
  });
}

/** Namespaces whose refs commands may change. */
const TAKEN = /^refs\/(?:heads|tags|remotes|notes|original)\/./;
/** What git-check-ref-format(1) forbids, and names that git or a person would read as something else. */
const ODD =
  /[\0- \x7f~^:?*[\\]|\.\.|@\{|\/\/|\/\.|\.\/|\.lock(?:\/|$)|[./]$|\/-|\/HEAD$|\/[0-9a-f]{40}$/;

/** Why a ref is not taken over; undefined if it is. */
export function refProblem(name: string): string | undefined {
  if (!TAKEN.test(name)) return "commands do not change refs of this kind";
  return ODD.test(name) || name.length > 1_000 ? "its name is odd" : undefined;
}
