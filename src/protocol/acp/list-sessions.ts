import { STANDARD } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { isForeignCursor, type ListedForeign } from "../../session/foreign/foreign-sessions.ts";
import type { SessionRecord } from "../../session/store.ts";
import { workplaceOf } from "../../session/workplace.ts";
import type { AcpDoor, Handle } from "./door.ts";
import { type JsonObject, objectOf, ours } from "./methods.ts";
import { clean } from "./serve-sessions.ts";
import type { ListSessionsParams } from "./schema.gen.ts";
import { worktreeInfo } from "./worktree-request.ts";

/**
 * ACP session-list: our sessions. With `_meta.trunkline.agents` (true, or names), those that agents have
 * begun themselves follow on the last page. To list those, the agents are started.
 */
export function listSessions(door: AcpDoor): Handle<ListSessionsParams> {
  return async ({ cwd, cursor, ...rest }, { state }) => {
    const sessions = await door.sessions();
    const agents = readAgents(ours(objectOf(rest)._meta).agents);
    const folder = cwd ? clean(cwd) : undefined;
    const isTheirs = cursor ? isForeignCursor(cursor) : false;
    const page = isTheirs
      ? { sessions: [] }
      : await sessions.list(folder, cursor ?? undefined, state.onlyOwner);
    const own = page.sessions.map(infoOf);
    if (!isTheirs && (agents === undefined || page.nextCursor !== undefined)) {
      return { ...page, sessions: own };
    }
    const theirs = await sessions.foreign.list({
      ...agents,
      principal: state.principal,
      cwd: folder,
      cursor: isTheirs ? (cursor ?? undefined) : undefined,
    });
    const { problems, nextCursor } = theirs;
    return {
      sessions: [...own, ...theirs.sessions.map(foreignInfoOf)],
      ...(nextCursor === undefined ? {} : { nextCursor }),
      ...(problems.length === 0 ? {} : { _meta: { trunkline: { problems } } }),
    };
  };
}

/** Undefined where the sessions of no agent are asked for. */
function readAgents(value: unknown): { readonly agents?: readonly string[] } | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  if (value === true) return {};
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) {
    return { agents: value };
  }
  const says = "'params._meta.trunkline.agents' must be true, or a list of names";
  throw RpcError.of(STANDARD.invalidParams, says);
}

function infoOf({ id, cwd, title, updated, notes }: SessionRecord): JsonObject {
  const { directories } = notes;
  const trunkline = worktreeInfo(workplaceOf(notes));
  return {
    sessionId: id,
    cwd,
    ...(title === undefined ? {} : { title }),
    updatedAt: new Date(updated).toISOString(),
    ...(Array.isArray(directories) && directories.length > 0
      ? { additionalDirectories: directories as unknown[] }
      : {}),
    ...(Object.keys(trunkline).length === 0 ? {} : { _meta: { trunkline } }),
  };
}

function foreignInfoOf({ id, agent, theirs, cwd, title, updatedAt }: ListedForeign): JsonObject {
  return {
    sessionId: id,
    cwd,
    ...(title === undefined ? {} : { title }),
    ...(updatedAt === undefined ? {} : { updatedAt }),
    _meta: { trunkline: { origin: "agent", agent, agentSessionId: theirs } },
  };
}
