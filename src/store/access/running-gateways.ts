import { readdirSync, readFileSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { FileLock } from "../file-lock.ts";
import { replaceFile } from "../replace-file.ts";

const FOLDER = "gateways";

/** What a command of the owner's needs to find a gateway that runs. */
export interface RunningGateway {
  /** Where this machine reaches it, without a path. */
  readonly url: string;
  /** Where a browser does. */
  readonly browser: string;
  readonly started: string;
}

/**
 * Says in the data folder that a gateway runs, until it is disposed of. A lock of the operating
 * system's says whether that is still true: it ends with its process, however that ends.
 */
export async function announceGateway(
  data: string,
  gateway: Omit<RunningGateway, "started">,
): Promise<Disposable> {
  const folder = join(data, FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, crypto.randomUUID());
  const lock = await FileLock.take(`${path}.lock`);
  const started = new Date().toISOString();
  await replaceFile(`${path}.json`, JSON.stringify({ ...gateway, started }));
  return {
    [Symbol.dispose]() {
      forget(path);
      lock[Symbol.dispose]();
    },
  };
}

/** The gateways that run with a data folder, the last started first. */
export async function runningGateways(data: string): Promise<RunningGateway[]> {
  const folder = join(data, FOLDER);
  const running: RunningGateway[] = [];
  for (const name of namesIn(folder)) {
    const path = join(folder, name.slice(0, -".json".length));
    if (!FileLock.isTaken(`${path}.lock`)) {
      // It was killed, and could not say that it is gone.
      forget(path);
      continue;
    }
    const found = read(`${path}.json`);
    if (found !== undefined) running.push(found);
  }
  return running.toSorted((one, other) => other.started.localeCompare(one.started));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".json"));
  } catch {
    return [];
  }
}

function read(path: string): RunningGateway | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as RunningGateway;
  } catch {
    // It has just stopped.
    return undefined;
  }
}

function forget(path: string): void {
  for (const end of [".json", ".lock"]) rmSync(`${path}${end}`, { force: true });
}
