import { isAbsolutePath } from "../../base/check.ts";
import {
  type Principal,
  limitRefusal,
  mayControl,
  mayUseFolder,
  mayUseRepository,
  scopeRefusal,
} from "../../base/principal.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { Route } from "../../rpc/route.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { ClientServers, McpMessage, McpServer, TurnPart } from "../../session/agent.ts";
import type { ListedForeign } from "../../session/foreign/foreign-sessions.ts";
import { SessionError } from "../../session/session-error.ts";
import { type Labels, type SessionSetup, isLabels } from "../../session/session-setup.ts";
import type { Session } from "../../session/session.ts";
import { choose, chooseOption } from "../../session/settings.ts";
import type { SessionRecord } from "../../session/store.ts";
import { readSubagentId } from "../../session/subagent.ts";
import { type Workplace, type WorktreeRequest, workplaceOf } from "../../session/workplace.ts";
import type { AcpConnection } from "./connection.ts";
import type { AcpDoor, Handle } from "./door.ts";
import { type JsonObject, METHODS, isObject, objectOf, ours } from "./methods.ts";
import type { ListSessionsParams, NewSessionParams, SessionParams } from "./schema.gen.ts";
import { providersOf } from "./serve-login.ts";
import { wrongParams } from "./session-errors.ts";
import { withoutBooleans } from "./update-forms.ts";

/** Throws if a client only watches the session, or may only watch sessions at all. */
export function refuseObserver(client: AcpConnection, sessionId: string, what: string): void {
  if (client.roleIn(sessionId) === "controller") return;
  const next = mayControl(client.principal)
    ? "Open it with session/load, without the role 'observer', to take part."
    : "Use a token that was created without --observe.";
  const why = `Cannot ${what}: you observe this session. ${next}`;
  throw new SessionError("permission-denied", why, { role: "observer" });
}

/** Throws if a principal may only watch sessions. */
function refuseWatcher({ principal }: AcpConnection, what: string): void {
  if (mayControl(principal)) return;
  const next = "Use a token that was created without --observe.";
  throw new SessionError("permission-denied", `Cannot ${what}: this token only observes. ${next}`);
}

/** A stdio server is started at once, with the rights of the gateway, so it needs a scope of its own. */
export function refusePrograms(servers: readonly McpServer[], principal: Principal): void {
  const program = servers.find(({ command }) => command !== undefined);
  if (program === undefined) return;
  const what = `To name a command that is started (MCP server '${program.name.slice(0, 64)}')`;
  const refusal = scopeRefusal(principal, "programs", what);
  if (refusal !== undefined) throw new SessionError("permission-denied", refusal);
}

/** Throws if the setup names a folder or repository that the principal may not use. */
export async function refuseFolders(
  door: AcpDoor,
  { cwd, additionalDirectories }: SessionSetup,
  principal: Principal,
): Promise<void> {
  for (const folder of [cwd, ...additionalDirectories]) {
    if (!mayUseFolder(principal, folder)) {
      throw denied(principal, `the folder '${folder}'`, `--folder ${folder}`);
    }
    if (principal.limits?.repositories === undefined) continue;
    const addresses = (await door.options.addressesOf?.(folder)) ?? [];
    if (!mayUseRepository(principal, addresses)) {
      const [address] = addresses;
      const what =
        address === undefined
          ? `'${folder}', which is in no repository with an address`
          : `the repository '${address}'`;
      throw denied(principal, what, `--repo ${address ?? "ADDRESS"}`);
    }
  }
}

function denied(principal: Principal, what: string, option: string): SessionError {
  return new SessionError("permission-denied", limitRefusal(principal, what, option));
}

/**
 * ACP session-list: our sessions. With `_meta.trunkline.agents` (true, or names), those that agents have
 * begun themselves follow on the last page. To list those, the agents are started.
 */
function listSessions(door: AcpDoor): Handle<ListSessionsParams> {
  return async ({ cwd, cursor, archived, ...rest }, { state }) => {
    const sessions = await door.sessions();
    const agents = readAgents(ours(objectOf(rest)._meta).agents);
    const folder = cwd ? clean(cwd) : undefined;
    const filter = archived ?? undefined;
    const page = await sessions.list(folder, cursor ?? undefined, state.onlyOwner, filter);
    const own = page.sessions.map(infoOf);
    if (agents === undefined || page.nextCursor !== undefined) return { ...page, sessions: own };
    const asked = { ...agents, principal: state.principal, cwd: folder };
    const { sessions: theirs, problems } = await sessions.foreign.list(asked);
    return {
      sessions: [...own, ...theirs.map(foreignInfoOf)],
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
  throw wrongParams("'params._meta.trunkline.agents' must be true, or a list of names");
}

function infoOf({ id, cwd, title, updated, notes }: SessionRecord): JsonObject {
  const { directories } = notes;
  const trunkline = worktreeInfo(workplaceOf(notes));
  return {
    sessionId: id,
    cwd,
    ...(title === undefined ? {} : { title }),
    updatedAt: new Date(updated).toISOString(),
    archived: notes.archived === true,
    ...(Array.isArray(directories) && directories.length > 0
      ? { additionalDirectories: directories as unknown[] }
      : {}),
    ...(Object.keys(trunkline).length === 0 ? {} : { _meta: { trunkline } }),
  };
}

function foreignInfoOf({ id, agent, theirs, cwd, title, updatedAt }: ListedForeign): JsonObject {
  const trunkline = { origin: "agent", agent, agentSessionId: theirs };
  return { sessionId: id, cwd, title, updatedAt, _meta: { trunkline } };
}

/** Routes of sessions: ACP session-setup, and listing, forking, closing and deleting. */
export function serveSessions(door: AcpDoor): Route<AcpConnection>[] {
  return [
    door.serve(METHODS.newSession, newSession(door)),
    // Remote run guide § Step-by-step process: the name of session/new there.
    door.serve(METHODS.createSession, newSession(door), { limitedAs: METHODS.newSession.name }),
    door.serve(METHODS.loadSession, async (params, { state }) => {
      const session = await reopenSession(door, params, state);
      const { after } = ours(params._meta);
      await session.replayTo(state, typeof after === "number" ? after : undefined);
      return { ...settingsOf(session, state), ...stateOf(session, state) };
    }),
    door.serve(METHODS.resumeSession, async (params, { state }) => {
      const session = await reopenSession(door, params, state);
      const { after = params.replayFrom ? 0 : undefined } = ours(params._meta);
      if (typeof after === "number") await session.replayTo(state, after);
      // Version 2: the state of the session comes before other updates, so the client is attached at once.
      else if (state.isEchoed) session.attach(state);
      else attachLater(session, state);
      state.showState(params.sessionId, session.isRunning);
      return { ...settingsOf(session, state), ...stateOf(session, state) };
    }),
    door.serve(METHODS.forkSession, async (params, { state }) => {
      refuseWatcher(state, "fork a session");
      const setup = await setupOf(door, params, state);
      const { upTo } = ours(params._meta);
      const sessions = await door.about(params.sessionId, state);
      const last = typeof upTo === "number" ? upTo : undefined;
      const forked = await sessions.fork(params.sessionId, setup, last, state.principal);
      return begun(forked, params, setup, state);
    }),
    door.serve(METHODS.listSessions, listSessions(door)),
    door.serve(METHODS.closeSession, async ({ sessionId }, { state }) => {
      const sessions = await door.about(sessionId, state);
      refuseObserver(state, sessionId, "close the session");
      if (sessions.get(sessionId) || !state.codec.closesAgain) await sessions.close(sessionId);
      return {};
    }),
    door.serve(METHODS.deleteSession, async ({ sessionId }, { state }) => {
      const sessions = await door.about(sessionId, state);
      refuseObserver(state, sessionId, "delete the session");
      const branch = await sessions.delete(sessionId);
      return branch === undefined ? {} : { _meta: { trunkline: { branch } } };
    }),
    door.serve(METHODS.setTitle, async ({ sessionId, title }, { state }) => {
      const sessions = await door.about(sessionId, state);
      refuseObserver(state, sessionId, "give the session a title");
      const line = visibleLine(title.trim()).slice(0, LONGEST_TITLE);
      if (line === "") throw wrongParams("'params.title' must not be empty");
      await sessions.setTitle(sessionId, line);
      return { title: line };
    }),
    door.serve(METHODS.archiveSession, archive(door, true)),
    door.serve(METHODS.unarchiveSession, archive(door, false)),
    door.serve(METHODS.sessionStatus, async ({ sessionId }, { state }) => {
      const sessions = await door.about(sessionId, state);
      return { status: (await sessions.isOpen(sessionId)) ? "open" : "saved" };
    }),
    door.serve(METHODS.cancelToolCall, ({ sessionId, toolCallId: id }, { state }) =>
      cancelPart(door, sessionId, { kind: "tool_call", id }, state),
    ),
    door.serve(METHODS.cancelTerminal, ({ sessionId, terminalId: id }, { state }) =>
      cancelPart(door, sessionId, { kind: "terminal", id }, state),
    ),
  ];
}

/** Characters. */
const LONGEST_TITLE = 200;

function archive(door: AcpDoor, isArchived: boolean): Handle<SessionParams> {
  return async ({ sessionId }, { state }) => {
    const sessions = await door.about(sessionId, state);
    refuseObserver(state, sessionId, isArchived ? "archive the session" : "list the session again");
    await sessions.archive(sessionId, isArchived);
    return {};
  };
}

/** ACP version 2, Cancelling Tool Calls: answered when it is accepted; an update tells of the end. */
async function cancelPart(
  door: AcpDoor,
  named: string,
  part: TurnPart,
  client: AcpConnection,
): Promise<object> {
  const { session: sessionId, child } = readSubagentId(named);
  const session = await door.session(sessionId, client);
  const what = part.kind.replace("_", " ");
  refuseObserver(client, sessionId, `cancel a ${what}`);
  if (await session.cancelPart({ ...part, child })) return {};
  throw wrongParams(`this ${what} is not there, is over, or cannot be cancelled by itself`);
}

/** Routes of settings: as modes and models (ACP message specification), and as config options. */
export function serveSettings(door: AcpDoor): Route<AcpConnection>[] {
  const need = async (id: string, client: AcpConnection): Promise<Session> => {
    const session = await door.session(id, client);
    refuseObserver(client, id, "change a setting");
    return session;
  };
  return [
    door.serve(METHODS.setMode, async ({ sessionId, modeId }, { state }) => {
      await choose(await need(sessionId, state), "mode", modeId, state);
      return {};
    }),
    door.serve(METHODS.setModel, async ({ sessionId, modelId }, { state }) => {
      await choose(await need(sessionId, state), "model", modelId, state);
      return {};
    }),
    door.serve(METHODS.setConfigOption, async ({ sessionId, configId, value }, { state }) => {
      const session = await need(sessionId, state);
      await chooseOption(session, configId, value, state);
      return { configOptions: optionsFor(state, session.settings.configOptions ?? []) };
    }),
  ];
}

function newSession(door: AcpDoor): Handle<NewSessionParams> {
  return async (params, { state }) => {
    refuseWatcher(state, "begin a session");
    const worktree = readWorktreeRequest(ours(params._meta).worktree ?? door.options.worktree);
    const labels = labelsOf(params);
    const setup = { ...(await setupOf(door, params, state)), worktree, labels };
    const sessions = await door.sessions();
    const agent = agentOf(params) ?? state.agent ?? door.options.agent;
    return begun(await sessions.create(setup, agent, state.principal), params, setup, state);
  };
}

/** The answer to a request for a new session, to which its client is attached. */
function begun(
  session: Session,
  params: NewSessionParams,
  setup: SessionSetup,
  client: AcpConnection,
): JsonObject {
  const { id: sessionId } = withServers(session, setup);
  client.opened({ ...params, sessionId });
  attachLater(session, client);
  return { sessionId, ...settingsOf(session, client), ...metaOfNew(session) };
}

/** ACP message specification § Streaming Message Ordering: no update comes before the answer with the session's id. */
function attachLater(session: Session, client: AcpConnection): void {
  setImmediate(() => session.attach(client));
}

/** The session, which is opened here unless it is. */
export async function reopenSession(
  door: AcpDoor,
  params: NewSessionParams & { readonly sessionId: string },
  client: AcpConnection,
): Promise<Session> {
  const { sessionId, _meta } = params;
  const sessions = await door.about(sessionId, client);
  client.takeRole(sessionId, _meta);
  client.opened(params);
  const { after } = ours(_meta);
  const open = await sessions.current(sessionId, typeof after === "number" ? after : 0);
  const { principal } = client;
  if (open !== undefined) {
    if (mayControl(principal)) {
      clientServers.get(open)?.rebind(normaliseServers(params.mcpServers), client);
    }
    return open;
  }
  const fixed = await sessions.fixedSetup(sessionId, principal);
  // A client that only watches cannot name servers.
  const servers = serversOf(mayControl(principal) ? params.mcpServers : [], client);
  const setup =
    fixed === undefined ? await setupOf(door, params, client) : { ...fixed, ...servers };
  return withServers(await sessions.open(sessionId, setup, principal), setup);
}

async function setupOf(
  door: AcpDoor,
  params: NewSessionParams,
  client: AcpConnection,
): Promise<SessionSetup> {
  const { cwd, additionalDirectories, systemPrompt, _meta } = params;
  const { principal } = client;
  const servers = serversOf(params.mcpServers, client);
  const providers = providersOf(params, client);
  const prepared = await door.options.setUpSession?.(params, principal);
  if (prepared !== undefined) return { ...prepared, ...servers };
  // ACP session-setup § Working Directory: the path must be absolute.
  if (!isAbsolutePath(cwd)) throw wrongParams("'params.cwd' must be an absolute path");
  const setup = {
    cwd: clean(cwd),
    additionalDirectories: additionalDirectories ?? [],
    ...servers,
    providers,
    systemPrompt: systemPrompt ?? undefined,
    meta: _meta ?? undefined,
    isForced: ours(_meta).force === true,
  };
  await refuseFolders(door, setup, principal);
  return setup;
}

type Servers = Pick<SessionSetup, "mcpServers" | "clientServers">;

/** The servers of open sessions that clients have themselves. */
const clientServers = new WeakMap<Session, ClientMcpServers>();

function withServers(session: Session, { clientServers: of }: Servers): Session {
  if (of instanceof ClientMcpServers) clientServers.set(session, of);
  return session;
}

function serversOf(given: NewSessionParams["mcpServers"], client: AcpConnection): Servers {
  const servers = normaliseServers(given);
  refusePrograms(servers, client.principal);
  if (!servers.some(({ type }) => type === "acp")) return { mcpServers: servers };
  const own = new ClientMcpServers(servers, client);
  return { mcpServers: own.list, clientServers: own };
}

function agentOf({ _meta }: NewSessionParams): string | undefined {
  const { agent } = ours(_meta);
  return typeof agent === "string" ? agent : undefined;
}

function labelsOf({ _meta }: NewSessionParams): Labels | undefined {
  const { labels } = ours(_meta);
  if (labels === undefined || isLabels(labels)) return labels;
  throw wrongParams("'params._meta.trunkline.labels' must be an object of strings");
}

function settingsOf(session: Session, client: AcpConnection): JsonObject {
  const { modes, models, configOptions: options, _meta } = session.settings;
  return { models, modes, configOptions: options && optionsFor(client, options), _meta };
}

function optionsFor({ capabilities }: AcpConnection, options: readonly JsonObject[]): unknown {
  return capabilities.booleans ? options : withoutBooleans(options);
}

/** Whether a turn is running, the last event, and the client's role; ACP has no members for them. */
function stateOf(session: Session, client: AcpConnection): JsonObject {
  const { _meta } = session.settings;
  const turn = session.isRunning ? "running" : "idle";
  const role = client.roleIn(session.id);
  const state = { seq: session.last, turn, role, ...worktreeInfo(session.workplace) };
  return { _meta: { ..._meta, trunkline: state } };
}

/** Different spellings of a folder are the same workspace. */
function clean(path: string): string {
  return process.getBuiltinModule("node:path").resolve(path);
}

const NAME = "'params._meta.trunkline.worktree'";

/** Reads `_meta.trunkline.worktree` of session/new: true, or what the work tree should be like. */
export function readWorktreeRequest(value: unknown): WorktreeRequest | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  if (value === true) return {};
  if (!isObject(value)) throw wrongParams(`${NAME} must be true or an object`);
  const { branch, base, carry, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined) throw wrongParams(`${NAME} has no member '${other.slice(0, 64)}'`);
  const isList = Array.isArray(carry) && carry.every((each) => typeof each === "string");
  if (carry !== undefined && !isList) throw wrongParams(`${NAME}.carry must be a list of patterns`);
  return {
    ...text("branch", branch),
    ...text("base", base),
    ...(carry === undefined ? {} : { carry }),
  };
}

function text(name: string, value: unknown): JsonObject {
  if (value === undefined) return {};
  if (typeof value === "string" && value !== "") return { [name]: value };
  throw wrongParams(`${NAME}.${name} must be a text that is not empty`);
}

/** The description of a session's work tree for clients. */
export function worktreeInfo(place: Workplace | undefined): JsonObject {
  if (place === undefined) return {};
  const { folder, repository, branch, base, warnings } = place;
  return { worktree: { folder, repository, branch, base, warnings } };
}

/** `_meta` of the answer to session/new. */
export function metaOfNew({ workplace, settings }: Session): JsonObject {
  if (workplace === undefined) return {};
  return { _meta: { ...settings._meta, trunkline: worktreeInfo(workplace) } };
}

type GivenServer = Readonly<Record<string, unknown>> & { readonly name: string };

/**
 * Converts MCP servers to the form of the published ACP schema (ACP session-setup § MCP Servers):
 * `{ name, command, args, env }`, or `http` and `sse` with headers. The ACP message specification
 * § session/new has `{ type: "local", command: [program, …] }` instead.
 */
export function normaliseServers(servers: readonly GivenServer[] | null | undefined): McpServer[] {
  return (servers ?? []).map((server, index) => normalise(server, `params.mcpServers[${index}]`));
}

function normalise(server: GivenServer, at: string): McpServer {
  const { type, name } = server;
  if (type === "http" || type === "sse" || type === "remote") {
    if (typeof server.url !== "string") throw wrongParams(`'${at}.url' must be a string`);
    const headers = pairs(server.headers, `${at}.headers`);
    return { ...server, type: type === "sse" ? "sse" : "http", headers };
  }
  if (type === "acp") {
    if (typeof server.serverId !== "string") throw wrongParams(`'${at}.serverId' must be a string`);
    return server;
  }
  if (type !== undefined && type !== "local" && type !== "stdio") {
    throw wrongParams(`'${at}.type' must be one of: stdio, local, http, sse, acp`);
  }
  const { command, args, env, environment, type: _, ...others } = server;
  const words = Array.isArray(command) ? (command as unknown[]) : [command, ...listOf(args)];
  if (words.length === 0 || !words.every((word) => typeof word === "string" && word !== "")) {
    throw wrongParams(`'${at}.command' must be a program, or a list of it and its arguments`);
  }
  const [program = "", ...rest] = words as string[];
  const variables = pairs(env ?? environment, `${at}.env`);
  return { ...others, name, command: program, args: rest, env: variables };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** `[{ name, value }]`. Some clients send an object instead. */
function pairs(value: unknown, at: string): { name: string; value: string }[] {
  if (value === undefined || value === null) return [];
  const given = Array.isArray(value)
    ? (value as { name?: unknown; value?: unknown }[])
    : Object.entries(value).map(([name, of]) => ({ name, value: of as unknown }));
  return given.map((pair, index) => {
    if (typeof pair?.name !== "string" || typeof pair.value !== "string") {
      throw wrongParams(`'${at}[${index}]' must have a name and a value`);
    }
    return { name: pair.name, value: pair.value };
  });
}

/** The current connection of a server. */
interface Home {
  readonly name: string;
  readonly client: AcpConnection;
  /** The id that the client has given it. */
  readonly serverId: string;
}

/** The binding of MCP to ACP: nobody has a server with that id. */
const UNAVAILABLE = -33001;

/**
 * The MCP servers of one session that a client has itself (ACP `mcp/message`). Agents know them by ids of
 * ours, since those of several clients may be the same.
 */
class ClientMcpServers implements ClientServers {
  /** All servers of the session. */
  readonly list: readonly McpServer[];
  readonly #homes = new Map<string, Home>();

  constructor(servers: readonly McpServer[], client: AcpConnection) {
    this.list = servers.map((server) => {
      const { type, name, serverId: theirs } = server;
      if (type !== "acp") return server;
      const serverId = crypto.randomUUID();
      this.#homes.set(serverId, { name, client, serverId: String(theirs) });
      return { ...server, serverId };
    });
  }

  /** A client has opened the session again: its servers take the places of those that are gone. */
  rebind(servers: readonly McpServer[], client: AcpConnection): void {
    for (const [id, home] of this.#homes) {
      const again = servers.find(({ type, name }) => type === "acp" && name === home.name);
      if (again === undefined || !home.client.isGone) continue;
      this.#homes.set(id, { ...home, client, serverId: String(again.serverId) });
    }
  }

  async ask(
    message: McpMessage,
    signal: AbortSignal,
    heard: (message: McpMessage) => void,
  ): Promise<object> {
    const { serverId: id } = message;
    const { client, serverId, name = id } = this.#homes.get(id) ?? {};
    if (client === undefined || serverId === undefined || client.isGone) {
      throw new RpcError(UNAVAILABLE, `The client with the MCP server '${name}' is gone`);
    }
    return await client.askServer({ ...message, serverId }, signal, (said) =>
      heard({ ...said, serverId: id }),
    );
  }
}
