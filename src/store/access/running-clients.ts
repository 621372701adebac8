import { readdirSync, readFileSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { FileLock } from "../file-lock.ts";
import { replaceFile } from "../replace-file.ts";

const FOLDER = "clients";

/** A program that uses this data folder through a process that it has started. */
export interface Client {
  /** "assistant": by `trunkline mcp`. "editor": by `trunkline acp`. */
  readonly kind: "assistant" | "editor";
  /** How it calls itself. */
  readonly name: string;
  /** When it began, in milliseconds. */
  readonly since: number;
}

/** A client, and whether its process still runs. */
export interface SeenClient extends Client {
  readonly isRunning: boolean;
}

interface StoredClient extends SeenClient {
  readonly path: string;
}

/**
 * Registers a client in the data folder. A file lock, which the system releases when the process ends, shows
 * whether it still runs. The last one of each kind is remembered.
 */
export async function announceClient(data: string, client: Client): Promise<Disposable> {
  const folder = join(data, FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Those of the same kind that have ended; this one is the last from now on.
  for (const { path, kind, isRunning } of stored(data)) {
    if (isRunning || kind !== client.kind) continue;
    for (const end of [".json", ".lock"]) rmSync(path + end, { force: true });
  }
  const path = join(folder, crypto.randomUUID());
  const lock = await FileLock.take(`${path}.lock`);
  await replaceFile(`${path}.json`, JSON.stringify(client));
  return lock;
}

/** The clients of a data folder, the last one first. */
export function seenClients(data: string): SeenClient[] {
  return stored(data);
}

function stored(data: string): StoredClient[] {
  const found = namesIn(join(data, FOLDER)).flatMap((name): StoredClient[] => {
    const path = join(data, FOLDER, name.slice(0, -".json".length));
    try {
      const { kind, name: called, since } = JSON.parse(readFileSync(`${path}.json`, "utf8"));
      const isRunning = FileLock.isTaken(`${path}.lock`);
      return [{ kind, name: String(called), since: Number(since), isRunning, path }];
    } catch {
      // It was just removed, or the disk has damaged it: it is announced again by the next one.
      return [];
    }
  });
  return found.toSorted((one, other) => other.since - one.since);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".json"));
  } catch {
    return [];
  }
}
