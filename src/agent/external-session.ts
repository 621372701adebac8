import { resolve } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { METHODS } from "../protocol/acp/methods.ts";
import type {
  CreateTerminalParams,
  ElicitParams,
  NewSessionParams,
  PermissionParams,
  ReadFileParams,
  SettingsResult,
  TerminalParams,
  WriteFileParams,
} from "../protocol/acp/schema.gen.ts";
import { fromWire } from "../protocol/acp/session-errors.ts";
import type {
  AgentOpenOptions,
  AgentSession,
  SessionSettings,
  SessionUpdate,
  Turn,
  TurnEnd,
} from "../session/agent.ts";
import { chosenIn, inBothForms, optionOf, withChoice, withOptions } from "../session/settings.ts";
import { type AgentIdentity, identityVariables } from "./agent-identity.ts";
import type { AgentProcess, ExternalAgent } from "./external-agent.ts";
import { chooseAgain } from "./external-choices.ts";
import { ExternalFiles } from "./external-files.ts";
import type { ExternalOffer } from "./external-offer.ts";
import { ExternalTerminals } from "./external-terminals.ts";
import { Speaker } from "./turn/speaker.ts";

export interface ExternalSessionOptions extends AgentOpenOptions {
  /** Whom the agent acts as. */
  readonly identity: AgentIdentity | undefined;
}

/** What is kept for the next time: the agent's own name for the conversation. */
interface Memory {
  readonly sessionId?: string;
}

/** Updates that may be on their way to the disk before the agent has to wait. */
const WAIT_EVERY = 256;
/** How often a command that runs long is counted as progress. */
const ALIVE_EVERY = 5_000;

/** One conversation with somebody else's agent. */
export class ExternalSession implements AgentSession {
  readonly #agent: ExternalAgent;
  readonly #options: ExternalSessionOptions;
  readonly #files: ExternalFiles;
  readonly terminals = new ExternalTerminals((update) => void this.#say(update));
  #process: AgentProcess | undefined;
  #remoteId = "";
  #settings: SessionSettings | undefined;
  #turn: Turn | undefined;
  #heard = 0;
  /** What it repeats of the past while it loads a session is in our log already. */
  #isLoading = false;
  #hasSpoken = false;
  /** It had to begin anew, and the person does not know that yet. */
  #hasForgotten = false;

  constructor(agent: ExternalAgent, options: ExternalSessionOptions) {
    this.#agent = agent;
    this.#options = options;
    this.#files = new ExternalFiles([options.cwd, ...options.additionalDirectories]);
    this.#remoteId = ((options.memory ?? {}) as Memory).sessionId ?? "";
  }

  get settings(): SessionSettings {
    return this.#settings ?? {};
  }

  /** Begins at the agent, or takes up what was begun there. */
  async begin(): Promise<AgentProcess> {
    const process = await this.#agent.process(this.#options.identity);
    if (process === this.#process) return process;
    // Those of an agent that died.
    await this.terminals.clear();
    const { chosen } = this.#options;
    const wanted = this.#settings === undefined ? chosen : chosenIn(this.#settings);
    if (!(await this.#load(process))) await this.#create(process);
    this.#process = process;
    await chooseAgain(this, wanted, this.#options);
    return process;
  }

  async prompt(turn: Turn): Promise<TurnEnd> {
    const { connection, offer } = await this.begin();
    const sessionId = this.#remoteId;
    const prompt = offer.fit(turn.prompt);
    const stopped = (): void => connection.cancel(sessionId);
    this.#turn = turn;
    turn.stop.add({ stopped });
    try {
      if (this.#hasForgotten) await this.#admit(turn);
      this.#hasSpoken = true;
      const params = { sessionId, prompt };
      const { stopReason, usage, _meta } = await connection.request(METHODS.prompt, params);
      return { stopReason, ...(usage ? { usage } : {}), ...(_meta ? { _meta } : {}) };
    } catch (error) {
      if (!(error instanceof TrunklineError) || error.code !== "closed") throw fromWire(error);
      this.#process = undefined;
      const why = `Agent '${this.#agent.name}' ended while it was working. The next prompt starts it again.`;
      throw new TrunklineError("unavailable", why, { cause: error });
    } finally {
      this.#turn = undefined;
    }
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

  /** What the agent says. */
  heard(update: SessionUpdate): Promise<void> | undefined {
    if (this.#isLoading) return undefined;
    if (update.sessionUpdate === "current_mode_update") {
      this.#settings = withChoice(this.settings, "mode", String(update.currentModeId));
      const { configOptions = [] } = inBothForms(this.#settings);
      void this.#say({ sessionUpdate: "config_option_update", configOptions });
    } else if (update.sessionUpdate === "config_option_update") {
      this.#take({ configOptions: update.configOptions as never });
    }
    const stored = this.#say(this.terminals.translate(update));
    // Waiting for the disk at each would make a commit of each.
    return ++this.#heard % WAIT_EVERY === 0 ? stored : undefined;
  }

  async permission({ toolCall, options, _meta }: PermissionParams): Promise<unknown> {
    if (this.#turn === undefined) return { outcome: { outcome: "cancelled" } };
    const meta = _meta ? { _meta } : {};
    const asked = await this.#turn.requestPermission({ toolCall, options, ...meta });
    if (asked.outcome === "cancelled") return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: asked.optionId } };
  }

  /** Through the editor where it offers that, so that what is not saved yet counts. */
  async readTextFile({ path, line, limit }: ReadFileParams): Promise<unknown> {
    const range = {
      ...(typeof line === "number" ? { line } : {}),
      ...(typeof limit === "number" ? { limit } : {}),
    };
    const place = await this.#files.within(path);
    const read = this.#turn?.client.fs?.readTextFile;
    // Editors know their files by the names that people use.
    const content = read ? await read(resolve(path), range) : await this.#files.read(place, range);
    return { content };
  }

  async writeTextFile({ path, content }: WriteFileParams): Promise<unknown> {
    const place = await this.#files.within(path);
    const write = this.#turn?.client.fs?.writeTextFile;
    if (write !== undefined) await write(resolve(path), content);
    else await this.#files.write(place, content);
    return {};
  }

  /** At the editor where it offers that, so that people see it; else here, in the workspace. */
  async createTerminal(params: CreateTerminalParams): Promise<unknown> {
    const { command, args, env, outputByteLimit } = params;
    const cwd = await this.#files.within(params.cwd ?? this.#options.cwd);
    const variables = [...identityVariables(this.#options.identity), ...(env ?? [])];
    const options = {
      command,
      cwd,
      ...(args ? { args } : {}),
      ...(variables.length > 0 ? { env: variables } : {}),
      ...(typeof outputByteLimit === "number" ? { outputByteLimit } : {}),
    };
    const terminalId = await this.terminals.create(options, this.#turn?.client.terminal);
    return { terminalId };
  }

  async waitForExit({ terminalId }: TerminalParams): Promise<unknown> {
    const terminal = this.terminals.find(terminalId);
    const alive = setInterval(() => this.#turn?.progressed(), ALIVE_EVERY);
    try {
      return await terminal.waitForExit();
    } finally {
      clearInterval(alive);
    }
  }

  async elicit(question: ElicitParams): Promise<unknown> {
    const elicit = this.#turn?.client.elicit;
    return (await elicit?.({ ...question })) ?? { action: "cancel" };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.terminals.clear();
    const process = this.#process;
    if (process === undefined) return;
    process.sessions.delete(this.#remoteId);
    if (!process.offer.closes) return;
    const sessionId = this.#remoteId;
    await process.connection.request(METHODS.closeSession, { sessionId }).catch(() => {});
  }

  /** Where it works and with what, as far as it can. */
  #place(offer: ExternalOffer): NewSessionParams {
    const { cwd, mcpServers, additionalDirectories: folders, log } = this.#options;
    const unfit = mcpServers.filter((server) => !offer.takesServer(server));
    for (const { name, type } of unfit) log.warn("agent.server-not-taken", { server: name, type });
    const place = { cwd, mcpServers: mcpServers.filter((server) => offer.takesServer(server)) };
    const isMore = offer.takesDirectories && folders.length > 0;
    return isMore ? { ...place, additionalDirectories: [...folders] } : place;
  }

  #say(update: SessionUpdate): Promise<void> | undefined {
    if (this.#turn !== undefined) return this.#turn.update(update);
    this.#options.update(update);
    return undefined;
  }

  /** False where the agent cannot, or does not have it any more. */
  async #load({ connection, sessions, offer }: AgentProcess): Promise<boolean> {
    const sessionId = this.#remoteId;
    if (sessionId === "" || !(offer.resumes || offer.loads)) return false;
    const method = offer.resumes ? METHODS.resumeSession : METHODS.loadSession;
    const { log } = this.#options;
    sessions.set(sessionId, this);
    this.#isLoading = true;
    try {
      this.#take(await connection.request(method, { sessionId, ...this.#place(offer) }));
      return true;
    } catch (error) {
      sessions.delete(sessionId);
      log.warn("agent.session-lost", { error });
      return false;
    } finally {
      this.#isLoading = false;
    }
  }

  async #create({ connection, sessions, offer }: AgentProcess): Promise<void> {
    const { history, remember } = this.#options;
    this.#hasForgotten ||= this.#hasSpoken || (await isBegun(history));
    const place = this.#place(offer);
    const created = await connection.request(METHODS.newSession, place).catch(rethrow);
    this.#remoteId = created.sessionId;
    sessions.set(this.#remoteId, this);
    this.#take(created);
    await remember({ sessionId: this.#remoteId });
  }

  async #admit(turn: Turn): Promise<void> {
    this.#hasForgotten = false;
    const title = `Agent '${this.#agent.name}' had to begin anew`;
    await new Speaker(turn).notice("warning", title, "it does not know what was said before");
  }

  #take(result: SettingsResult): void {
    const { modes, models, configOptions } = result ?? {};
    const settings: SessionSettings = {
      ...this.#settings,
      ...(modes ? { modes: modes as never } : {}),
      ...(models ? { models: models as never } : {}),
    };
    this.#settings = Array.isArray(configOptions) ? withOptions(settings, configOptions) : settings;
  }
}

async function isBegun(history: AgentOpenOptions["history"]): Promise<boolean> {
  for await (const _ of history ?? []) return true;
  return false;
}

function rethrow(error: unknown): never {
  throw fromWire(error);
}
