import { readdir, readFile, readlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { TrunklineError } from "../base/errors.ts";
import type { AgentConnection } from "../protocol/acp/connect.ts";
import { METHODS, objectOf } from "../protocol/acp/methods.ts";
import type { NewSessionParams, SettingsResult } from "../protocol/acp/schema.gen.ts";
import { fromWire } from "../protocol/acp/session-errors.ts";
import type {
  AgentOpenOptions,
  ContentBlock,
  ForeignPage,
  ForeignQuery,
  HistoryEntry,
  Import,
  SessionUpdate,
} from "../session/agent.ts";
import { SessionError } from "../session/session-error.ts";
import type { ExternalCapabilities } from "./external-capabilities.ts";

interface NamedAgent {
  readonly name: string;
  /** The words of its command line. */
  readonly command: readonly string[];
}

export interface ConnectedAgent {
  readonly connection: AgentConnection;
  readonly capabilities: ExternalCapabilities;
}

/** ACP session-list: a page of the sessions that an agent has stored itself. */
export async function listSessions(
  { name }: NamedAgent,
  { connection, capabilities }: ConnectedAgent,
  { cwd, cursor }: ForeignQuery,
): Promise<ForeignPage> {
  if (!capabilities.can("list")) {
    throw new TrunklineError("usage", `Agent '${name}' does not list its sessions.`);
  }
  const params = { ...(cwd ? { cwd } : {}), ...(cursor ? { cursor } : {}) };
  const answer = objectOf(
    await connection.request(METHODS.listSessions, params).catch((error: unknown) => {
      throw fromWire(error);
    }),
  );
  const listed = Array.isArray(answer.sessions) ? answer.sessions : [];
  const { nextCursor } = answer;
  return {
    sessions: listed.flatMap((each: unknown) => {
      const { sessionId, cwd: folder, title, updatedAt } = objectOf(each);
      if (typeof sessionId !== "string" || typeof folder !== "string") return [];
      const about = { title: textOf(title), updatedAt: textOf(updatedAt) };
      return [{ id: sessionId, cwd: folder, ...about }];
    }),
    nextCursor: textOf(nextCursor),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/**
 * Loads a session that the agent has begun itself. `session/load` replays it; `session/resume` continues
 * it without; `session/fork` makes a copy of it. Loading may write to the agent's files, so nobody else
 * should be writing to them. Returns the agent's id from now on, too.
 */
export async function loadForeign(
  agent: NamedAgent,
  { connection, capabilities }: ConnectedAgent,
  { id }: Import,
  setup: NewSessionParams,
): Promise<{ readonly sessionId: string; readonly settings: SettingsResult }> {
  const params = { sessionId: id, ...setup };
  try {
    if (capabilities.can("load") || capabilities.can("resume")) {
      const method = capabilities.can("load") ? METHODS.loadSession : METHODS.resumeSession;
      return { sessionId: id, settings: await connection.request(method, params) };
    }
    if (capabilities.can("fork")) {
      const forked = await connection.request(METHODS.forkSession, params);
      return { sessionId: forked.sessionId, settings: forked };
    }
  } catch (error) {
    const failure = fromWire(error);
    const why = failure instanceof Error ? failure.message : String(failure);
    const says = `Agent '${agent.name}' cannot load its session '${id}': ${why}`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
  const says = `Agent '${agent.name}' cannot continue sessions that it began itself.`;
  throw new TrunklineError("usage", says);
}

/** Throws if a program seems to have the session open. */
export async function refuseLiveWriter(
  { name, command }: NamedAgent,
  { id, isForced }: Import,
  cwd: string,
): Promise<void> {
  if (isForced) return;
  const found = await findLiveWriter({ commandLine: command, session: id, cwd });
  if (found === undefined) return;
  const sure = found.isSure
    ? "has this session open"
    : "runs in the same folder, and may have this session open; that cannot be known";
  const says = `Process ${found.pid} (${found.command}) ${sure}. Two writers would damage it. End that process, or force it (--force, or _meta.trunkline.force)`;
  const data = { pid: found.pid, isSure: found.isSure };
  const why = `Cannot take over session '${id}' of '${name}': ${says}.`;
  throw new SessionError("session-locked", why, data);
}

/** Characters of a conversation that an agent is told. */
const LONGEST_TOLD = 200_000;

/**
 * The conversation so far, for an agent that does not know it. What was done is told in words: the agent may
 * have other tools.
 */
export async function conversationFor(
  history: AgentOpenOptions["history"],
): Promise<ContentBlock[]> {
  let text = "";
  for await (const entries of history ?? []) for (const entry of entries) text += wordsIn(entry);
  if (text === "") return [];
  const says = `The conversation with this person so far:\n${text.slice(-LONGEST_TOLD)}`;
  const resource = { uri: "trunkline:conversation", mimeType: "text/plain", text: says };
  return [{ type: "resource", resource }];
}

function wordsIn(entry: HistoryEntry): string {
  if (entry.kind === "prompt") {
    return `\n\nPerson: ${entry.prompt.map((part) => textOf(part.text) ?? "").join("\n")}\n\nAgent: `;
  }
  if (entry.kind === "end") return "";
  const { sessionUpdate, content, title } = entry.update;
  if (sessionUpdate === "tool_call") return `\n(${String(title)})\n`;
  return sessionUpdate === "agent_message_chunk" ? (textOf(objectOf(content).text) ?? "") : "";
}

/** Marks what was said before the session became ours. */
export function asImported(update: SessionUpdate): SessionUpdate {
  const meta = (update._meta ?? {}) as Readonly<Record<string, unknown>>;
  const trunkline = { ...(meta.trunkline as object | undefined), imported: true };
  return { ...update, _meta: { ...meta, trunkline } };
}

interface WriterQuery {
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
 * if there is none, and on other systems. It is sure of a program that names the session, or has a file of it
 * open; others only run in the same folder.
 */
export async function findLiveWriter(query: WriterQuery) {
  const { proc = "/proc", session, cwd } = query;
  const programs = programsOf(query.commandLine);
  const pids = (await readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name));
  let likely: { pid: number; command: string; isSure: boolean } | undefined;
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
