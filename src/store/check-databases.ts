import { createInterface } from "node:readline";

import { onAbort } from "../base/abort.ts";
import { TrunklineError } from "../base/errors.ts";
import { OwnedChild } from "../base/process/child-process.ts";
import { usualVariables } from "../base/process/environment.ts";

/** What SQLite says of a file. */
export interface CheckedDatabase {
  readonly path: string;
  /** What is wrong with it; undefined if nothing is, or nothing is known. */
  readonly problem?: string;
  /** The version of its schema; undefined where it was not read in time. */
  readonly version?: number;
}

/**
 * Checks files one after the other. SQLite opens a file in WAL mode that nobody has open as
 * immutable: opened for reading only, it would leave two files beside it. If another process starts to
 * write at that moment, what is read makes no sense, so a problem is looked for again with locks.
 */
const SCRIPT = `
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { DatabaseSync } from "node:sqlite";
function check(path, isImmutable) {
  try {
    const url = pathToFileURL(path);
    if (isImmutable) url.searchParams.set("immutable", "1");
    using database = new DatabaseSync(url, { readOnly: true, timeout: 1000 });
    const { user_version: version } = database.prepare("PRAGMA user_version").get();
    const said = database.prepare("PRAGMA quick_check(1)").all().map((row) => row.quick_check);
    return said.join() === "ok" ? { version } : { version, problem: said.join() };
  } catch (error) {
    return { problem: error.message };
  }
}
for (const path of process.argv.slice(1)) {
  const isAlone = !existsSync(path + "-wal");
  let found = check(path, isAlone);
  if (isAlone && found.problem !== undefined && existsSync(path + "-wal")) found = check(path, false);
  console.log(JSON.stringify({ path, ...found }));
}
`;

/**
 * Asks SQLite whether files are whole. A process of its own does it: a large file takes long, which
 * would block our thread, and a lock of ours on the same file would be lost when it is closed. Files that
 * were not read when `signal` is aborted have no version.
 */
export async function checkDatabases(
  paths: readonly string[],
  signal?: AbortSignal,
): Promise<CheckedDatabase[]> {
  const isGivenUp = (): boolean => signal?.aborted === true;
  if (paths.length === 0 || isGivenUp()) return paths.map((path) => ({ path }));
  let said = "";
  await using child = await OwnedChild.start({
    command: process.execPath,
    args: ["--no-warnings", "--input-type=module", "--eval", SCRIPT, ...paths],
    env: usualVariables(),
    stderr: (line) => (said = line),
  });
  using killing = new DisposableStack();
  killing.defer(onAbort(signal, () => child.kill()));
  const found = new Map<string, CheckedDatabase>();
  for await (const line of createInterface({ input: child.stdout })) {
    const checked = JSON.parse(line) as CheckedDatabase;
    found.set(checked.path, checked);
  }
  if ((await child.exit) !== 0 && !isGivenUp()) {
    throw new TrunklineError("unavailable", `Cannot check databases: ${said}`);
  }
  return paths.map((path) => found.get(path) ?? { path });
}
