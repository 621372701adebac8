import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { attempt } from "../base/attempt.ts";
import { FileLock } from "../store/file-lock.ts";

/** Where a bus that runs can be reached. */
export interface RunningBus {
  readonly address: string;
  readonly certsDir: string;
  readonly pid: number;
  /** When it began to listen, in milliseconds since 1970. */
  readonly since: number;
}

const NOTE = ".bus.json";

/** Notes in the folder of a run of the bus where it listens. The folder goes with the bus. */
export async function noteBus(folder: string, bus: RunningBus): Promise<void> {
  await writeFile(join(folder, NOTE), JSON.stringify(bus), { mode: 0o600 });
}

/** The buses that run with folders below this one, the newest first. */
export function runningBuses(parent: string, lock: string): RunningBus[] {
  return foldersIn(parent)
    .filter((folder) => FileLock.isTaken(join(folder, lock)))
    .flatMap((folder) => readNote(join(folder, NOTE)) ?? [])
    .toSorted((a, b) => b.since - a.since);
}

function foldersIn(parent: string): string[] {
  // No bus ever ran here.
  return attempt(
    () =>
      readdirSync(parent, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => join(parent, name)),
    [],
  );
}

function readNote(path: string): RunningBus | undefined {
  try {
    const note = JSON.parse(readFileSync(path, "utf8")) as Partial<RunningBus>;
    const { address, certsDir, pid = 0, since = 0 } = note;
    if (typeof address !== "string" || typeof certsDir !== "string") return undefined;
    return { address, certsDir, pid, since };
  } catch {
    // It is being written, or of a bus that ends.
    return undefined;
  }
}
