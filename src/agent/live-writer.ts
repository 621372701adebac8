import { readdir, readFile, readlink } from "node:fs/promises";
import { basename, join } from "node:path";

/** A running program that may be writing to a session of an agent. */
export interface LiveWriter {
  readonly pid: number;
  /** The command line, shortened. */
  readonly command: string;
  /** It names the session, or has a file of it open; otherwise it only runs in the same folder. */
  readonly isSure: boolean;
}

export interface WriterQuery {
  /** The command line that starts the agent for us. */
  readonly commandLine: readonly string[];
  /** The agent's id of the session. */
  readonly session: string;
  readonly cwd: string;
  /** Where the system describes its processes. */
  readonly proc?: string;
}

/** Programs that people use in a terminal, of agents that are started by another name for ACP. */
const PROGRAMS = ["claude", "codex", "opencode", "goose", "gemini", "qwen"];
const LONGEST = 120;

/**
 * Looks for a program that has a session of an agent open. Agents lock nothing that others could see, so
 * this reads only what Linux says about processes: their folder, command line and open files. Undefined
 * if there is none, and on other systems.
 */
export async function findLiveWriter(query: WriterQuery): Promise<LiveWriter | undefined> {
  const { proc = "/proc", session, cwd } = query;
  const programs = programsOf(query.commandLine);
  const pids = (await readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name));
  let likely: LiveWriter | undefined;
  for (const pid of pids) {
    const folder = join(proc, pid);
    const words = await wordsOf(folder);
    if (Number(pid) === process.pid || !isOneOf(programs, words)) continue;
    if (await isOurs(proc, pid)) continue;
    const command = words.join(" ").slice(0, LONGEST);
    const names = words.includes(session) || (await hasOpen(folder, session));
    if (names) return { pid: Number(pid), command, isSure: true };
    if ((await readlink(join(folder, "cwd")).catch(() => "")) !== cwd) continue;
    likely ??= { pid: Number(pid), command, isSure: false };
  }
  return likely;
}

/** Names under which the agent's program runs. */
function programsOf(commandLine: readonly string[]): ReadonlySet<string> {
  const words = commandLine.join(" ").toLowerCase();
  const known = PROGRAMS.filter((name) => words.includes(name));
  if (known.length > 0) return new Set(known);
  // An agent that nobody knows: by its script, where an interpreter runs it.
  const own = commandLine.find((word) => /\.[cm]?[jt]s$|\.py$/.test(word)) ?? commandLine[0] ?? "";
  return new Set([basename(own)]);
}

/** Whether a program is one of these, also where an interpreter runs it. */
function isOneOf(programs: ReadonlySet<string>, words: readonly string[]): boolean {
  return words.slice(0, 2).some((word) => {
    const name = basename(word);
    return programs.has(name) || programs.has(name.replace(/\.[cm]?js$|\.exe$/, ""));
  });
}

/** Whether this process has started it, directly or through others. */
async function isOurs(proc: string, pid: string): Promise<boolean> {
  let at = Number(pid);
  for (let depth = 0; depth < 32 && at > 1; depth++) {
    if (at === process.pid) return true;
    const stat = await readFile(join(proc, String(at), "stat"), "latin1").catch(() => "");
    // The name in parentheses may contain anything; the parent is the second field after it.
    at = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] ?? 0);
  }
  return false;
}

async function wordsOf(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, "cmdline"), "utf8").catch(() => "");
  return text.split("\0").filter(Boolean);
}

/** Whether a process has a file open whose name contains the session's id. */
async function hasOpen(folder: string, session: string): Promise<boolean> {
  // A short id is part of many names.
  if (session.length < 8) return false;
  // As a whole: goose's first session of a day is called `20261117_1`, and a log of its `20261117_194512.log`.
  const whole = new RegExp(`(?<![A-Za-z0-9])${RegExp.escape(session)}(?![A-Za-z0-9])`);
  const fds = await readdir(join(folder, "fd")).catch(() => []);
  for (const fd of fds) {
    const target = await readlink(join(folder, "fd", fd)).catch(() => "");
    if (whole.test(basename(target))) return true;
  }
  return false;
}
