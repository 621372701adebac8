import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";

import { objectIn } from "../../../base/check.ts";
import { isInside } from "../../../base/file/path.ts";
import type { Source } from "./bundle.ts";

/** The folder of the undo journal of a session. */
export function undoFolder(data: string, session: string): string {
  return join(data, "undo", session);
}

/** The files of the undo journal. */
export async function undoSources(data: string, session: string): Promise<Source[]> {
  const folder = undoFolder(data, session);
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  return names
    .filter((name) => /(?:^|\/)(?:turn\.jsonl|\d+\.before)$/.test(name))
    .map((name) => ({ name: `undo/${name}`, path: join(folder, name) }));
}

/**
 * Puts the undo journal of an arriving session in its place. Its paths become those of the new folder; a
 * path that is elsewhere is left out, since undoing would write there.
 */
export async function putUndoFiles(
  data: string,
  session: string,
  files: ReadonlyMap<string, string>,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const folder = undoFolder(data, session);
  await rm(folder, { recursive: true, force: true });
  for (const [name, path] of files) {
    if (!name.startsWith("undo/")) continue;
    const target = join(folder, name.slice("undo/".length));
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    if (!name.endsWith(".jsonl")) {
      await copyFile(path, target);
      continue;
    }
    const lines = (await readFile(path, "utf8")).split("\n").flatMap((line) => {
      const entry = objectIn(line) as Readonly<Record<string, unknown>> | undefined;
      if (entry === undefined) return [];
      const mapped = mapEntry(entry, from, to);
      return mapped === undefined ? [] : [`${JSON.stringify(mapped)}\n`];
    });
    await writeFile(target, lines.join(""), { mode: 0o600 });
  }
}

function mapEntry(
  entry: Readonly<Record<string, unknown>>,
  from: string,
  to: string,
): object | undefined {
  const mapped: Record<string, unknown> = { ...entry };
  for (const name of ["path", "made"]) {
    const path = entry[name];
    if (path === undefined) continue;
    if (typeof path !== "string" || !path.startsWith(`${from}/`)) return undefined;
    const moved = join(to, path.slice(from.length + 1));
    if (!isInside(moved, to) || moved === to) return undefined;
    mapped[name] = moved;
  }
  const { blob } = entry;
  const isBlob = blob === undefined || blob === null || /^\d{1,9}\.before$/.test(String(blob));
  return isBlob ? mapped : undefined;
}
