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

/** The processes of which this holds, other than this one. A dead one that nobody waits for is none. */
export function processesWhere(holds: (details: Details) => boolean): Running[] {
  if (!CAN_LIST_PROCESSES) return [];
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    try {
      const details = {
        environment: readFileSync(`/proc/${pid}/environ`, "latin1").split("\0"),
        command: readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ").trim(),
        cwd: readlinkSync(`/proc/${pid}/cwd`),
      };
      return holds(details) ? [{ pid, command: details.command }] : [];
    } catch {
      // It ended while we looked, or is not ours.
      return [];
    }
  });
}
