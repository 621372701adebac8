import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { attempt } from "../../base/attempt.ts";
import { announce, announced } from "./running-gateways.ts";

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

/** Registers a client in the data folder. The last one of each kind is remembered. */
export async function announceClient(data: string, client: Client): Promise<Disposable> {
  // Those of the same kind that have ended; this one is the last from now on.
  for (const { path, kind, isRunning } of stored(data)) {
    if (isRunning || kind !== client.kind) continue;
    for (const end of [".json", ".lock"]) rmSync(path + end, { force: true });
  }
  return await announce(join(data, FOLDER), client);
}

/** The clients of a data folder, the last one first. */
export function seenClients(data: string): SeenClient[] {
  return stored(data);
}

function stored(data: string): StoredClient[] {
  const found = announced(join(data, FOLDER)).flatMap(({ path, isRunning }): StoredClient[] => {
    // It was just removed, or the disk has damaged it: it is announced again by the next one.
    return attempt(() => {
      const { kind, name, since } = JSON.parse(readFileSync(`${path}.json`, "utf8"));
      return [{ kind, name: String(name), since: Number(since), isRunning, path }];
    }, []);
  });
  return found.toSorted((one, other) => other.since - one.since);
}
