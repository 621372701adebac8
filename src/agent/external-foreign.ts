import { TrunklineError } from "../base/errors.ts";
import type { AgentConnection } from "../protocol/acp/connect.ts";
import { METHODS, objectOf } from "../protocol/acp/methods.ts";
import type { NewSessionParams, SettingsResult } from "../protocol/acp/schema.gen.ts";
import { fromWire } from "../protocol/acp/session-errors.ts";
import type { ForeignPage, ForeignQuery, Import, SessionUpdate } from "../session/agent.ts";
import { SessionError } from "../session/session-error.ts";
import type { ExternalCapabilities } from "./external-capabilities.ts";
import { findLiveWriter } from "./live-writer.ts";

interface NamedAgent {
  readonly name: string;
  /** The words of its command line. */
  readonly command: readonly string[];
}

interface ConnectedAgent {
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
      return [
        {
          id: sessionId,
          cwd: folder,
          ...(typeof title === "string" ? { title } : {}),
          ...(typeof updatedAt === "string" ? { updatedAt } : {}),
        },
      ];
    }),
    ...(typeof nextCursor === "string" ? { nextCursor } : {}),
  };
}

/** What was loaded, and the agent's id from now on. */
interface Imported {
  readonly sessionId: string;
  readonly settings: SettingsResult;
}

/**
 * Loads a session that the agent has begun itself. `session/load` replays it; `session/resume` continues
 * it without; `session/fork` makes a copy of it. Loading may write to the agent's files, so nobody else
 * should be writing to them.
 */
export async function loadForeign(
  agent: NamedAgent,
  { connection, capabilities }: ConnectedAgent,
  { id }: Import,
  setup: NewSessionParams,
): Promise<Imported> {
  const params = { sessionId: id, ...setup };
  try {
    if (capabilities.can("load")) {
      return { sessionId: id, settings: await connection.request(METHODS.loadSession, params) };
    }
    if (capabilities.can("resume")) {
      return { sessionId: id, settings: await connection.request(METHODS.resumeSession, params) };
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
  throw new SessionError(
    "session-locked",
    `Cannot take over session '${id}' of '${name}': ${says}.`,
    data,
  );
}

/** Marks what was said before the session became ours. */
export function asImported(update: SessionUpdate): SessionUpdate {
  const meta = (update._meta ?? {}) as Readonly<Record<string, unknown>>;
  const trunkline = { ...(meta.trunkline as object | undefined), imported: true };
  return { ...update, _meta: { ...meta, trunkline } };
}
