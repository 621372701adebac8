import { readFileSync } from "node:fs";

/**
 * Names this process so that others can tell whether it is still there: its machine, its number and,
 * since numbers are used again, when it began.
 */
export function thisProcess(): string {
  return (own ??= [hostname(), process.pid, beginOf(process.pid) ?? ""].join(" "));
}

let own: string | undefined;

/** Whether a process may still be there. Of another machine's, nobody here can say: it may. */
export function mayBeAlive(holder: string): boolean {
  const [host, number, began] = holder.split(" ");
  const pid = Number(number);
  if (host !== hostname() || !Number.isSafeInteger(pid) || pid <= 0) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  const begin = beginOf(pid);
  return begin === undefined || began === "" || begin === began;
}

/** In ticks since the machine started, where Linux tells. */
function beginOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // One that has ended and that nobody has asked after yet is still listed.
    return fields[0] === "Z" ? "ended" : fields[19];
  } catch {
    return undefined;
  }
}

/** Loaded when it is asked for: most that open a store need not know. */
function hostname(): string {
  return process.getBuiltinModule("node:os").hostname();
}
