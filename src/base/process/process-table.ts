import { existsSync, readdirSync, readFileSync } from "node:fs";

import { attempt } from "../attempt.ts";

/** A process that runs now. */
export interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Stopped by a signal, such as Ctrl-Z, or by a debugger. */
  readonly isStopped: boolean;
  /** Its start time, in the system's unit, which distinguishes processes that had the same id. */
  readonly start: string;
}

/**
 * Processes that are read in one turn of the event loop. Each takes some 30 µs on a slow processor, which
 * delays messages. With fewer, reading all takes more turns, which are long on a busy gateway.
 */
const AT_ONCE = 8;

/** Whether the environment of processes can be read, which only Linux allows. */
export const hasProc = existsSync("/proc/self/stat");

/** The states of a process that is stopped by a signal, and by a debugger. */
const STOPPED = /^[Tt]/;

/** All running processes, in batches: a machine may have thousands. */
export function* processTable(isProc: boolean = hasProc): Generator<RunningProcess[]> {
  if (!isProc) {
    yield askPs();
    return;
  }
  const names = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const part = names.slice(at, at + AT_ONCE).map((name) => processOf(Number(name)));
    yield part.filter((found) => found !== undefined);
  }
}

/** One process by its number; undefined if it has ended, even if it is still a zombie. */
export function processOf(pid: number, isProc: boolean = hasProc): RunningProcess | undefined {
  if (!isProc) return askPs("-p", String(pid))[0];
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (text === undefined) return undefined;
  // proc_pid_stat(5): the name, in parentheses, may hold anything. The start is the last that is needed.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ", 20);
  const [state = "", parent, group] = fields;
  if (/[ZXx]/.test(state)) return undefined;
  const isStopped = STOPPED.test(state);
  const start = fields[19] ?? "";
  return { pid, parent: Number(parent), group: Number(group), isStopped, start };
}

function askPs(...which: string[]): RunningProcess[] {
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const columns = ["pid", "ppid", "pgid", "stat", "lstart"].flatMap((name) => ["-o", `${name}=`]);
  const options = { encoding: "utf8", env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } } as const;
  const { stdout } = spawnSync(
    "ps",
    [...(which.length === 0 ? ["-A"] : which), ...columns],
    options,
  );
  return (stdout ?? "").split("\n").flatMap((line) => {
    const [pid, parent, group, state = "", ...start] = line.trim().split(/\s+/);
    if (start.length === 0 || state.startsWith("Z")) return [];
    const numbers = { pid: Number(pid), parent: Number(parent), group: Number(group) };
    return [{ ...numbers, isStopped: STOPPED.test(state), start: start.join(" ") }];
  });
}

/** Whether a process has a text in its environment. */
export function wasGiven(pid: number, words: string): boolean {
  return attempt(() => readFileSync(`/proc/${pid}/environ`).includes(words)) === true;
}
