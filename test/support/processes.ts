import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface Running {
  readonly pid: number;
  readonly command: string;
}

/** Only Linux tells the environment and the folder of any process of ours. */
export const CAN_LIST_PROCESSES = existsSync("/proc/self/environ");

interface Details {
  readonly environment: readonly string[];
  readonly command: string;
  readonly cwd: string;
}

/** The process that was started last on this machine. */
export function newestProcess(): number {
  if (!CAN_LIST_PROCESSES) return 0;
  return Number(readFileSync("/proc/loadavg", "latin1").trim().split(" ").pop());
}

/**
 * The processes of which this holds, other than this one. A dead one that nobody waits for is none.
 * With `after`, of those that were started after that one: processes are numbered in their order, and
 * to look at all that a machine runs takes long. When the numbers have begun again, all are looked at.
 */
export function processesWhere(holds: (details: Details) => boolean, after = 0): Running[] {
  if (!CAN_LIST_PROCESSES) return [];
  const first = newestProcess() < after ? 0 : after;
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid <= first || pid === process.pid) return [];
    try {
      const details = {
        environment: readFileSync(`/proc/${pid}/environ`, "latin1").split("\0"),
        command: commandOf(pid),
        cwd: readlinkSync(`/proc/${pid}/cwd`),
      };
      return holds(details) ? [{ pid, command: details.command }] : [];
    } catch {
      // It ended while we looked, or is not ours.
      return [];
    }
  });
}

/** The processes of a test file: it and they have that temporary folder. */
export function processesOf(folder: string, after = 0): Running[] {
  return processesWhere(
    ({ environment, command, cwd }) =>
      [cwd, command, ...environment].some((text) => text.includes(folder)),
    after,
  );
}

/** The words that a process was started with. Throws if it is gone. */
export function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ").trim();
}

export function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
