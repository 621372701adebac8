import { readdirSync, readFileSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { attempt } from "../../base/attempt.ts";
import { TrunklineError } from "../../base/errors.ts";
import { FileLock } from "../file-lock.ts";
import { replaceFile } from "../replace-file.ts";

const FOLDER = "gateways";

/** Where to reach a running gateway. */
export interface RunningGateway {
  /** Address for programs on this machine, without a path. */
  readonly url: string;
  /** Address for a browser. */
  readonly browser: string;
  /** Address that it listens on, such as `http://0.0.0.0:4180`. */
  readonly listens?: string | undefined;
  readonly started: string;
  /** The id under which it holds sessions; undefined where others cannot reach it. */
  readonly holder?: string | undefined;
  /** A digest of the settings of its sessions: others use it only if their settings are the same. */
  readonly settings?: string | undefined;
}

/** Registers a running gateway in the data folder until it is disposed of. */
export async function announceGateway(
  data: string,
  gateway: Omit<RunningGateway, "started">,
  id: string = crypto.randomUUID(),
): Promise<Disposable> {
  // A gateway that is killed and started again, over and over, must not fill the folder.
  for (const { path, isRunning } of announced(join(data, FOLDER))) if (!isRunning) forget(path);
  const started = new Date().toISOString();
  const lock = await announce(join(data, FOLDER), { ...gateway, started }, id);
  return {
    [Symbol.dispose]() {
      forget(join(data, FOLDER, id));
      lock[Symbol.dispose]();
    },
  };
}

/**
 * The running gateways of a data folder, the last started first. One whose file cannot be read is left out,
 * or with `mustRead` it throws.
 */
export async function runningGateways(
  data: string,
  { mustRead = false }: { readonly mustRead?: boolean } = {},
): Promise<RunningGateway[]> {
  const running: RunningGateway[] = [];
  for (const { path, isRunning } of announced(join(data, FOLDER))) {
    const found = isRunning ? read(`${path}.json`, mustRead) : forget(path);
    if (found !== undefined) running.push(found);
  }
  return running.toSorted((one, other) => other.started.localeCompare(one.started));
}

function read(path: string, mustRead: boolean): RunningGateway | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as RunningGateway;
  } catch (error) {
    // Without a file, the gateway has just stopped.
    if (!mustRead || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const why = (error as Error).message;
    throw new TrunklineError("unavailable", `Cannot read '${path}': ${why}`, { cause: error });
  }
}

function forget(path: string): undefined {
  for (const end of [".json", ".lock", ".sock"]) rmSync(`${path}${end}`, { force: true });
}

/**
 * Registers a process in a folder that others read. A file lock, which the system releases when the process
 * ends, shows whether it still runs.
 */
export async function announce(
  folder: string,
  record: object,
  id: string = crypto.randomUUID(),
): Promise<FileLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = await FileLock.take(join(folder, `${id}.lock`));
  await replaceFile(join(folder, `${id}.json`), JSON.stringify(record));
  return lock;
}

/** The processes that are registered in a folder: the paths of their files, without an extension. */
export function announced(folder: string) {
  const names = attempt(() => readdirSync(folder), []).filter((name) => name.endsWith(".json"));
  return names.map((name) => {
    const path = join(folder, name.slice(0, -".json".length));
    return { path, isRunning: FileLock.isTaken(`${path}.lock`) };
  });
}
