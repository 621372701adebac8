import { atMost, onAbort } from "../base/abort.ts";
import { background, currentSession } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import type { LimitTable } from "../base/limit/limits.ts";
import type { Log } from "../base/log.ts";
import { type Confiner, OwnedChild } from "../base/process/child-process.ts";
import { usualVariables } from "../base/process/environment.ts";
import { LastStderrLine } from "../base/process/stderr-log.ts";
import { carrierOf, endSpan } from "../base/trace.ts";
import { type AgentListener, connectAgent } from "../protocol/acp/connect.ts";
import { METHODS } from "../protocol/acp/methods.ts";
import type {
  InitializeResult,
  NewSessionParams,
  NewSessionResult,
  SettingsResult,
  UpdateParams,
} from "../protocol/acp/schema.gen.ts";
import { fromWire } from "../protocol/acp/session-errors.ts";
import { withoutSystemPrompt } from "../session/session-error.ts";
import type {
  Agent,
  AgentOpenOptions,
  AgentRequest,
  AgentSession,
  ClientServers,
  ContentBlock,
  ForeignPage,
  ForeignQuery,
  Import,
  PauseWish,
  ProviderChoice,
  SessionSettings,
  SessionUpdate,
  Turn,
  TurnEnd,
  TurnPart,
} from "../session/agent.ts";
import { RpcError } from "../rpc/rpc-error.ts";
import { markSubagent, subagentId } from "../session/subagent.ts";
import { chosenIn, inBothForms, optionOf, withChoice, withOptions } from "../session/settings.ts";
import { childChannel } from "../wire/channel/child.ts";
import { type Tap, tapped } from "../wire/channel/tapped.ts";
import type { IdentityLookup, AgentIdentity } from "./command-environment.ts";
import { pauseWish } from "./commands/pause.ts";
import { endedAtOnce, explainLogin, ExternalCapabilities } from "./external-capabilities.ts";
import { ExternalServices, type ExternalServicesOptions } from "./external-services.ts";
import { restoreSettings } from "./external-settings.ts";
import type { CommandSandboxOpener } from "./files/command-sandbox.ts";
import {
  asImported,
  type ConnectedAgent,
  conversationFor,
  listSessions,
  loadForeign,
  refuseLiveWriter,
} from "./external-foreign.ts";
import { Speaker } from "./turn/speaker.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface ExternalAgentOptions {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly limits?: LimitTable | undefined;
  /** Finds the identity for git in a folder. Each identity has its own process, with its own environment. */
  readonly actsAs?: IdentityLookup | undefined;
  /** Runs the agent, and the commands that it has us run, in a sandbox. */
  readonly confine?: Confiner | undefined;
  /** Opens the sandbox of the commands that it has us run, where only those are in one. */
  readonly sandbox?: CommandSandboxOpener | undefined;
  /** The holder of its sessions. The processes serve all of them, so a holder that takes one over ends the processes. */
  readonly serves?: string | undefined;
  /** Called with the answer of each process to `initialize`. */
  readonly greeted?: ((hello: InitializeResult) => Promise<void>) | undefined;
  /** Sees the messages of each process, and what it writes to stderr. */
  readonly tap?: ((agent: string) => (Tap & { line(text: string): void }) | undefined) | undefined;
  readonly log: Log;
}

/** Milliseconds after which a process ends that was started for a list only. */
const UNUSED = 60_000;
/** Milliseconds in which a process that is started again must accept the login of the one before. */
const LOGIN_AGAIN = 30_000;

/** A running agent process and its connection. */
interface AgentProcess extends ConnectedAgent {
  readonly sessions: ExternalSessions;
  /** Resolves when the process or its connection has ended. */
  readonly over: Promise<unknown>;
}

/**
 * An agent that is another program, which speaks ACP on its standard streams. One process serves all
 * sessions of one principal with the same identity. When it dies, the next prompt starts another, which
 * loads the sessions again if it can.
 */
export class ExternalAgent implements Agent, AsyncDisposable {
  readonly name: string;
  readonly takesSystemPrompt = true;
  readonly #options: ExternalAgentOptions;
  /** By owner, name of the identity, and providers. */
  readonly #running = new Map<string, Promise<AgentProcess>>();
  /** The last login of each owner that a process does not keep for the next. Only in memory. */
  readonly #logins = new Map<string, Fields>();
  /** How often a process was asked for. */
  #used = 0;
  /** Each with the id of the owner of its sessions. */
  readonly #children = new Map<OwnedChild, string>();

  constructor(options: ExternalAgentOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** The words of the command line. */
  get command(): readonly string[] {
    return [this.#options.command, ...(this.#options.args ?? [])];
  }

  /** The command line, as a person would type it. */
  get commandLine(): string {
    return this.command.join(" ");
  }

  async open(options: AgentOpenOptions): Promise<ExternalSession> {
    const identity = await this.#options.actsAs?.(options.cwd);
    const { confine = asItIs, sandbox: opens } = this.#options;
    const sandbox = opens?.([options.cwd, ...options.additionalDirectories]);
    const session = new ExternalSession(this, { ...options, identity, confine, sandbox });
    onAbort(options.revoked, () => this.#kill(options.owner));
    await session.begin();
    return session;
  }

  async list(query: ForeignQuery): Promise<ForeignPage> {
    const process = await this.process(query.owner, undefined);
    using ends = new DisposableStack();
    ends.defer(() => this.#endIfUnused(process));
    return await listSessions(this, process, query);
  }

  async request(request: AgentRequest): Promise<unknown> {
    const { owner, method, params, signal, providers, ...client } = request;
    const process = await this.process(owner, undefined, providers);
    const { connection, sessions, capabilities } = process;
    sessions.clients.add(client);
    try {
      if (method === "auth/status" && !capabilities.hasAuthStatus) return { state: "unknown" };
      // Even if the agent cannot log out, so that its next process is not logged in again.
      if (method === "logout") this.#logins.delete(owner);
      const answer = await connection.request<Fields, unknown>({ name: method }, params, {
        signal,
      });
      // Only this process knows secrets that the client has sent, so its successor must be logged in with them again.
      if (method === "authenticate" && params._meta) this.#logins.set(owner, params);
      return answer;
    } catch (error) {
      throw fromWire(error);
    } finally {
      sessions.clients.delete(client);
      this.#endIfUnused(process);
      if (method === "authenticate" || method === "logout") await this.#renew(owner, process);
    }
  }

  /** Ends the other processes of an owner that have no session: they may not notice a login. */
  async #renew(owner: string, except: AgentProcess): Promise<void> {
    for (const [key, running] of this.#running) {
      if (!key.startsWith(`${owner}\n`)) continue;
      const process = await running.catch(() => undefined);
      if (process === undefined || process === except || !process.sessions.isEmpty) continue;
      await process.connection[Symbol.asyncDispose]();
    }
  }

  /** Ends a process that was started for a list only, unless it is used soon. */
  #endIfUnused(process: AgentProcess): void {
    const used = this.#used;
    const timer = setTimeout(() => {
      if (used !== this.#used) this.#endIfUnused(process);
      else if (process.sessions.isEmpty) {
        background(process.connection[Symbol.asyncDispose](), "Ending an agent that is not used");
      }
    }, UNUSED).unref();
    const forgotten = process.over.then(() => clearTimeout(timer));
    background(forgotten, "Forgetting an agent that has ended");
  }

  /** The process for an owner and an identity. Starts it if it is not running. */
  process(
    owner: string,
    identity: AgentIdentity | undefined,
    providers: readonly ProviderChoice[] = [],
  ): Promise<AgentProcess> {
    this.#used++;
    const key = `${owner}\n${identity?.name ?? ""}\n${JSON.stringify(providers)}`;
    const known = this.#running.get(key);
    if (known !== undefined) return known;
    const running = this.#start(owner, identity, providers);
    this.#running.set(key, running);
    const gone = (): void => {
      if (this.#running.get(key) === running) this.#running.delete(key);
    };
    running.then(({ over }) => over.then(gone), gone);
    return running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.#children.keys(), (child) => child.end()));
    for (const running of this.#running.values()) {
      await (await running.catch(() => undefined))?.connection[Symbol.asyncDispose]();
    }
  }

  /** Kills all processes of an owner. */
  #kill(owner: string): void {
    for (const [child, of] of this.#children) if (of === owner) child.kill();
  }

  async #start(
    owner: string,
    identity: AgentIdentity | undefined,
    providers: readonly ProviderChoice[],
  ): Promise<AgentProcess> {
    const { name, command, args = [], env, limits, log, confine = asItIs } = this.#options;
    const { serves = currentSession() } = this.#options;
    const tap = this.#options.tap?.(name);
    const words = new LastStderrLine();
    const said = (line: string): void => {
      words.add(line);
      log.info("agent.said", { agent: name, line });
      tap?.line(line);
    };
    const base = { ...usualVariables(), ...env };
    let started: OwnedChild | undefined;
    try {
      const own = identity?.processEnvironment(base) ?? base;
      const program = confine({ command, args, env: own, stderr: said, serves });
      const child = await OwnedChild.start(program);
      started = child;
      this.#children.set(child, owner);
      const forgotten = child.exit.then(() => this.#children.delete(child));
      background(forgotten, "Forgetting an agent that has ended");
      const sessions = new ExternalSessions();
      const plain = childChannel(child, { stray: said });
      const channel = tap === undefined ? plain : tapped(plain, tap);
      const listener = listenerFor(sessions);
      // Distinguishes a process that dies during `initialize` from one that does not answer.
      const connection = await Promise.race([
        connectAgent(channel, listener, limits),
        child.exit.then(() => {
          throw new TrunklineError("closed", "It ended at once");
        }),
      ]);
      const { greeted } = this.#options;
      if (greeted !== undefined) {
        background(greeted(connection.agent), "Noting what an agent can do");
      }
      const login = this.#logins.get(owner);
      if (login !== undefined) {
        const again = connection.request<Fields, unknown>({ name: "authenticate" }, login);
        await atMost(LOGIN_AGAIN, again, () => new Error("it does not answer")).catch(
          (error: unknown) => {
            // It may have expired. The agent itself says who has to log in.
            this.#logins.delete(owner);
            log.warn("agent.login-lost", { agent: name, error });
          },
        );
      }
      for (const { method, params } of providers) {
        await connection.request<Fields, unknown>({ name: method }, params).catch(rethrow);
      }
      const noted = child.exit.then((exit) => log.info("agent.ended", { agent: name, exit }));
      background(noted, "Noting the end of an agent");
      // A process may close its output without exiting.
      const closed = connection.ended.then(() => child.end());
      background(closed, "Ending an agent that has closed its output");
      const capabilities = new ExternalCapabilities(name, connection.capabilities);
      const over = Promise.race([child.exit, connection.ended]);
      // Terminals end with the agent that created them. Those of the next process are not affected.
      const cleared = over.then(() =>
        Promise.all(sessions.values().map((session) => session.services.terminals.clear())),
      );
      background(cleared, "Ending the commands of an agent");
      return { connection, capabilities, sessions, over };
    } catch (error) {
      // First, so that all of its stderr has been read.
      await started?.end();
      const isOver = error instanceof TrunklineError && error.code === "closed";
      throw isOver && started !== undefined
        ? endedAtOnce(name, await started.exit, words.line)
        : error;
    }
  }
}

const asItIs: Confiner = (options) => options;

const CLOSED = { action: "cancel" } as const;

/** Passes the messages of an agent to the session that they name. */
function listenerFor(sessions: ExternalSessions): AgentListener {
  const find = ({ sessionId }: { readonly sessionId: string }): ExternalSession => {
    const session = sessions.find(sessionId);
    if (session !== undefined) return session;
    throw new TrunklineError("not-found", `There is no session '${sessionId}' here`);
  };
  return {
    update: (params) => sessions.heard(params),
    requestPermission: (params) => find(params).services.permission(params),
    readTextFile: (params) => find(params).services.readTextFile(params),
    writeTextFile: (params) => find(params).services.writeTextFile(params),
    createTerminal: (params) => find(params).services.createTerminal(params),
    terminalOutput: async (params) =>
      find(params).services.terminals.find(params.terminalId).output(),
    waitForExit: (params) => find(params).services.waitForExit(params),
    killTerminal: async (params) => {
      await find(params).services.terminals.find(params.terminalId).kill();
      return {};
    },
    releaseTerminal: async (params) => {
      await find(params).services.terminals.release(params.terminalId);
      return {};
    },
    elicit: async (params) => {
      const session = sessions.find(params.sessionId ?? "");
      if (session !== undefined) return await session.services.elicit(params);
      // An elicitation without a session is part of a login, so it goes to the client that logs in.
      const client = sessions.clients.values().toArray().at(-1);
      const { requestId: _, ...question } = { requestId: undefined, ...params };
      return (await client?.elicit(question)) ?? CLOSED;
    },
    askServer: (...asked) => sessions.askServer(...asked),
    notified: (method, params) => sessions.notified(method, params),
  };
}

type ExternalSessionOptions = AgentOpenOptions &
  Pick<ExternalServicesOptions, "identity" | "confine" | "sandbox">;

/** Updates after which reading from the agent waits for the disk. */
const WAIT_EVERY = 256;

/** Members of updates that are ids of sessions: of this one, or of subagents. */
const SUBAGENT_IDS: Readonly<Record<string, readonly string[]>> = {
  subagent_update: ["sessionId"],
  session_message: ["senderSessionId", "recipientSessionId"],
};

/** One session of an agent that is another program. */
class ExternalSession implements AgentSession {
  readonly #agent: ExternalAgent;
  readonly #options: ExternalSessionOptions;
  readonly services: ExternalServices;
  #process: AgentProcess | undefined;
  /** All sessions of the process that this one is in, or is being opened in. */
  #sessions: ExternalSessions | undefined;
  #beginning: Promise<void> | undefined;
  #remoteId = "";
  #settings: SessionSettings | undefined;
  #turn: Turn | undefined;
  /** Updates since reading last waited. */
  #heard = 0;
  /** ACP session-setup § Loading Sessions: the agent replays the session, which our log has already. */
  #isLoading = false;
  /** The agent began the session itself, so what it replays is stored. */
  #isImporting = false;
  #hasSpoken = false;
  /** The agent lost the session and started a new one, which the person was not told yet. */
  #hasForgotten = false;

  constructor(agent: ExternalAgent, options: ExternalSessionOptions) {
    this.#agent = agent;
    this.#options = options;
    this.services = new ExternalServices({
      ...options,
      turn: () => this.#turn,
      say: (update) => background(this.#say(update), "Showing the output of a command"),
    });
    // What was stored for the next start: the agent's own id of the session.
    this.#remoteId = ((options.memory ?? {}) as { sessionId?: string }).sessionId ?? "";
  }

  get settings(): SessionSettings {
    return this.#settings ?? {};
  }

  /** Creates the session at the agent, or loads it there. Does nothing if the process is the same. */
  async begin(): Promise<AgentProcess> {
    const { owner, identity, providers } = this.#options;
    const process = await this.#agent.process(owner, identity, providers);
    if (process === this.#process) return process;
    // A prompt and a change of settings may both find the agent dead; the session is opened once.
    if (this.#beginning !== undefined) {
      await this.#beginning;
      return this.begin();
    }
    const wanted = this.#settings ? chosenIn(this.#settings) : this.#options.chosen;
    this.#beginning = this.#beginAt(process).finally(() => (this.#beginning = undefined));
    await this.#beginning;
    await restoreSettings(this, wanted, this.#options);
    return process;
  }

  async prompt(turn: Turn): Promise<TurnEnd> {
    const { connection, capabilities } = await this.begin();
    const sessionId = this.#remoteId;
    const prompt = capabilities.adaptPrompt(turn.prompt);
    this.#turn = turn;
    try {
      if (this.#hasForgotten) prompt.push(...capabilities.adaptPrompt(await this.#remind(turn)));
      // ACP prompt-turn § Cancellation: the agent ignores a cancel that arrives before the prompt.
      if (turn.signal.aborted) return { stopReason: "cancelled" };
      onAbort(turn.signal, () => connection.cancel(sessionId));
      this.#hasSpoken = true;
      const hop = turn.span?.hop("session/prompt", {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": this.#agent.name,
        "network.transport": "pipe",
      });
      const trace = carrierOf(hop, turn._meta);
      const params = { sessionId, prompt, ...(trace === undefined ? {} : { _meta: trace }) };
      const ask = () => connection.request(METHODS.prompt, params);
      const { stopReason, usage, _meta } = await (hop === undefined ? ask() : endSpan(hop, ask));
      return { stopReason, ...(usage ? { usage } : {}), ...(_meta ? { _meta } : {}) };
    } catch (error) {
      if (!(error instanceof TrunklineError) || error.code !== "closed") {
        throw explainLogin(fromWire(error), this.#agent, connection.agent.authMethods ?? []);
      }
      this.#process = undefined;
      const why = `Agent '${this.#agent.name}' ended while it was working. The next prompt starts it again.`;
      throw new TrunklineError("unavailable", why, { cause: error });
    } finally {
      // A turn that was given up may end during the next one.
      if (this.#turn === turn) this.#turn = undefined;
    }
  }

  passPausing(prompt: Turn["prompt"]): Promise<PauseWish> | undefined {
    const wish = pauseWish(prompt);
    const { connection, capabilities } = this.#process ?? {};
    const isAble = capabilities?.canPause === true && this.#turn !== undefined;
    if (wish === undefined || connection === undefined || !isAble) return undefined;
    const params = { sessionId: this.#remoteId, prompt: [{ type: "text", text: `/${wish}` }] };
    return connection.request(METHODS.prompt, params).then(() => wish, rethrow);
  }

  async setMode(modeId: string): Promise<void> {
    const { connection } = await this.begin();
    const sessionId = this.#remoteId;
    await connection.request(METHODS.setMode, { sessionId, modeId }).catch(rethrow);
    this.#settings = withChoice(this.settings, "mode", modeId);
  }

  async setModel(modelId: string): Promise<void> {
    const { connection } = await this.begin();
    const sessionId = this.#remoteId;
    const { models, configOptions = [] } = this.settings;
    const option = optionOf(configOptions, "model");
    if (models === undefined && option !== undefined) {
      await this.setConfigOption(option.id, modelId);
      return;
    }
    await connection.request(METHODS.setModel, { sessionId, modelId }).catch(rethrow);
    this.#settings = withChoice(this.settings, "model", modelId);
  }

  async setConfigOption(configId: string, value: unknown): Promise<void> {
    const { connection } = await this.begin();
    const type = typeof value === "boolean" ? { type: "boolean" } : {};
    const params = { sessionId: this.#remoteId, configId, value, ...type };
    this.#take(await connection.request(METHODS.setConfigOption, params).catch(rethrow));
  }

  notify(method: string, params: Fields): void {
    this.#options.notify?.(method, params);
  }

  /** Undefined if it has no such server. */
  askServer(...asked: Parameters<ClientServers["ask"]>): Promise<object> | undefined {
    const { mcpServers, clientServers } = this.#options;
    const isOwn = mcpServers.some(({ serverId }) => serverId === asked[0].serverId);
    return isOwn ? clientServers?.ask(...asked) : undefined;
  }

  async setTitle(title: string): Promise<void> {
    const { connection, capabilities } = this.#process ?? {};
    if (capabilities?.can("title") !== true) return;
    const params = { sessionId: this.#remoteId, title };
    await connection?.request(METHODS.setTitle, params).catch(rethrow);
  }

  cancelSubagent(child: string): void {
    // The process has sessions of others, too.
    if (this.#sessions?.subagents.get(child) === this) this.#process?.connection.cancel(child);
  }

  /** Resolves to false if the agent does not know the method. */
  async cancelPart({ kind, id, child }: TurnPart): Promise<boolean> {
    const { connection } = this.#process ?? {};
    const isTheirs = child === undefined || this.#sessions?.subagents.get(child) === this;
    if (connection === undefined || !isTheirs) return false;
    const sessionId = child ?? this.#remoteId;
    const asked =
      kind === "tool_call"
        ? connection.request(METHODS.cancelToolCall, { sessionId, toolCallId: id })
        : connection.request(METHODS.cancelTerminal, { sessionId, terminalId: id });
    return await asked.then(
      () => true,
      (error: unknown) => {
        if (error instanceof RpcError) return false;
        throw error;
      },
    );
  }

  /** ACP session/update of the agent, for the session or one of its subagents. */
  heard(said: SessionUpdate, child?: string): Promise<void> | undefined {
    const { sessionUpdate, sessionId: announced } = said;
    if (sessionUpdate === "subagent_update" && typeof announced === "string") {
      this.#sessions?.subagents.set(announced, this);
    }
    if (this.#isLoading) return undefined;
    const update = this.#withOurIds(said);
    if (child !== undefined) {
      return this.#stored(markSubagent(update, subagentId(this.#options.sessionId, child)));
    }
    if (update.sessionUpdate === "current_mode_update") {
      this.#settings = withChoice(this.settings, "mode", String(update.currentModeId));
      const { configOptions = [] } = inBothForms(this.#settings);
      const told = this.#say({ sessionUpdate: "config_option_update", configOptions });
      background(told, "Telling of a mode");
    } else if (update.sessionUpdate === "config_option_update") {
      this.#take({ configOptions: update.configOptions as never });
    }
    return this.#stored(update);
  }

  #stored(update: SessionUpdate): Promise<void> | undefined {
    const stored = this.#say(this.services.terminals.translate(update));
    // Waiting for each update would need a commit for each.
    if (++this.#heard < WAIT_EVERY) return undefined;
    this.#heard = 0;
    return stored;
  }

  /** Subagents have the agent's ids, which other sessions may use as well. */
  #withOurIds(update: SessionUpdate): SessionUpdate {
    const names = SUBAGENT_IDS[update.sessionUpdate];
    if (names === undefined) return update;
    const { sessionId, imports } = this.#options;
    const ids = names.flatMap((name) => {
      const id = update[name];
      if (typeof id !== "string") return [];
      const isThis = id === this.#remoteId || id === imports?.id;
      return [[name, isThis ? sessionId : subagentId(sessionId, id)]];
    });
    return { ...update, ...(Object.fromEntries(ids) as object) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.services.terminals.clear();
    await this.#options.sandbox?.[Symbol.asyncDispose]();
    const process = this.#process;
    if (process === undefined) return;
    process.sessions.forget(this.#remoteId);
    if (!process.capabilities.can("close")) return;
    const sessionId = this.#remoteId;
    await process.connection.request(METHODS.closeSession, { sessionId }).catch(() => {});
  }

  async #beginAt(process: AgentProcess): Promise<void> {
    this.#sessions = process.sessions;
    // These are terminals of the previous process.
    await this.services.terminals.clear();
    const { imports } = this.#options;
    if (imports !== undefined && this.#remoteId === "") await this.#import(process, imports);
    else if (!(await this.#load(process))) await this.#create(process);
    this.#process = process;
  }

  /** The parameters of session/new or session/load, as far as the agent supports them. */
  #setup(capabilities: ExternalCapabilities): NewSessionParams {
    const { cwd, mcpServers, additionalDirectories: folders, log, systemPrompt } = this.#options;
    const unfit = mcpServers.filter((server) => !capabilities.supportsServer(server));
    for (const { name, type } of unfit) log.warn("agent.server-not-taken", { server: name, type });
    if (systemPrompt !== undefined && !capabilities.can("systemPrompt")) {
      throw withoutSystemPrompt(this.#agent);
    }
    const isMore = capabilities.can("additionalDirectories") && folders.length > 0;
    return {
      cwd,
      mcpServers: mcpServers.filter((server) => capabilities.supportsServer(server)),
      ...(isMore ? { additionalDirectories: [...folders] } : {}),
      ...(systemPrompt === undefined ? {} : { systemPrompt: systemPrompt as never }),
    };
  }

  #say(update: SessionUpdate): Promise<void> | undefined {
    if (this.#isImporting) return this.#options.imports?.update(asImported(update));
    if (this.#turn !== undefined) return this.#turn.update(update);
    this.#options.update(update);
    return undefined;
  }

  /** Takes over a session that the agent has begun itself, with what it replays of it. */
  async #import(process: AgentProcess, imports: Import): Promise<void> {
    await refuseLiveWriter(this.#agent, imports, this.#options.cwd);
    const { sessions, capabilities } = process;
    sessions.set(imports.id, this);
    this.#isImporting = true;
    try {
      const setup = this.#setup(capabilities);
      const { sessionId, settings } = await loadForeign(this.#agent, process, imports, setup);
      sessions.set(sessionId, this);
      this.#remoteId = sessionId;
      this.#take(settings);
    } catch (error) {
      sessions.delete(imports.id);
      throw explainLogin(error, this.#agent, process.connection.agent.authMethods ?? []);
    } finally {
      this.#isImporting = false;
    }
    await this.#options.remember({ sessionId: this.#remoteId });
  }

  /** Resumes or loads the session. False if the agent cannot, or does not know it any more. */
  async #load({ connection, sessions, capabilities }: AgentProcess): Promise<boolean> {
    const sessionId = this.#remoteId;
    if (sessionId === "" || !(capabilities.can("resume") || capabilities.can("load"))) return false;
    const method = capabilities.can("resume") ? METHODS.resumeSession : METHODS.loadSession;
    const { log } = this.#options;
    sessions.set(sessionId, this);
    this.#isLoading = true;
    try {
      this.#take(await connection.request(method, { sessionId, ...this.#setup(capabilities) }));
      return true;
    } catch (error) {
      sessions.delete(sessionId);
      log.warn("agent.session-lost", { error });
      return false;
    } finally {
      this.#isLoading = false;
    }
  }

  async #create({ connection, sessions, capabilities }: AgentProcess): Promise<void> {
    const { history, remember } = this.#options;
    this.#hasForgotten ||= this.#hasSpoken || (await conversationFor(history)).length > 0;
    const ask = () => connection.request(METHODS.newSession, this.#setup(capabilities));
    const { created, early } = await sessions.begin(this, ask).catch((error: unknown) => {
      throw explainLogin(fromWire(error), this.#agent, connection.agent.authMethods ?? []);
    });
    this.#remoteId = created.sessionId;
    this.#take(created);
    for (const update of early) background(this.heard(update), "Telling what an agent said first");
    await remember({ sessionId: this.#remoteId });
  }

  async #remind(turn: Turn): Promise<ContentBlock[]> {
    this.#hasForgotten = false;
    const title = `Agent '${this.#agent.name}' had to start a new session`;
    await new Speaker(turn).notice("warning", title, "it gets the conversation so far as text");
    return await conversationFor(this.#options.history);
  }

  #take(result: SettingsResult): void {
    const { modes, models, configOptions } = result ?? {};
    // codex names its models differently in the two forms. The option is the current one.
    const isOption = optionOf(configOptions ?? [], "model") !== undefined;
    const settings: SessionSettings = {
      ...this.#settings,
      ...(modes ? { modes: modes as never } : {}),
      ...(models && !isOption ? { models: models as never } : {}),
    };
    this.#settings = Array.isArray(configOptions) ? withOptions(settings, configOptions) : settings;
  }
}

function rethrow(error: unknown): never {
  throw fromWire(error);
}

/** Updates that are buffered for sessions whose id is not known yet. */
const MOST_EARLY = 64;

/** The sessions of one agent process, by the agent's ids. */
class ExternalSessions extends Map<string, ExternalSession> {
  /** The clients that are logging in, the latest last. */
  readonly clients = new Set<Pick<AgentRequest, "elicit" | "notify">>();
  /** The last notification of each method. */
  readonly #told = new Map<string, Fields>();
  /** The sessions that subagents belong to, by the agent's ids of those. */
  readonly subagents = new Map<string, ExternalSession>();
  #beginning = 0;
  #early: UpdateParams[] = [];

  /** Whether there is no session, none is being created, and nobody logs in. */
  get isEmpty(): boolean {
    return this.size === 0 && this.#beginning === 0 && this.clients.size === 0;
  }

  /** Creates a session. Agents may send updates of it before their answer, so those are returned with it. */
  async begin(session: ExternalSession, ask: () => Promise<NewSessionResult>) {
    this.#beginning++;
    try {
      const created = await ask();
      this.set(created.sessionId, session);
      const early = this.#early.filter(({ sessionId }) => sessionId === created.sessionId);
      return { created, early: early.map(({ update }) => update) };
    } finally {
      if (--this.#beginning === 0) this.#early = [];
    }
  }

  notified(method: string, params: Fields): void {
    if (method !== "elicitation/complete") this.#told.set(method, params);
    for (const one of [...this.clients, ...this.values()]) one.notify(method, params);
  }

  override set(id: string, session: ExternalSession): this {
    for (const [method, params] of this.#told) session.notify(method, params);
    return super.set(id, session);
  }

  /** The session of that id, or whose subagent has it. */
  find(id: string): ExternalSession | undefined {
    return this.get(id) ?? this.subagents.get(id);
  }

  async askServer(...asked: Parameters<ClientServers["ask"]>): Promise<object> {
    const answers = this.values().map((session) => session.askServer(...asked));
    const answer = answers.find((each) => each !== undefined);
    if (answer === undefined) throw new TrunklineError("not-found", "There is no such MCP server");
    return await answer;
  }

  forget(id: string): void {
    const session = this.get(id);
    for (const [child, of] of this.subagents) if (of === session) this.subagents.delete(child);
    this.delete(id);
  }

  heard(params: UpdateParams): Promise<void> | undefined {
    const { sessionId, update } = params;
    const session = this.get(sessionId);
    if (session !== undefined) return session.heard(update);
    const parent = this.subagents.get(sessionId);
    if (parent !== undefined) return parent.heard(update, sessionId);
    if (this.#beginning > 0 && this.#early.length < MOST_EARLY) this.#early.push(params);
    return undefined;
  }
}
