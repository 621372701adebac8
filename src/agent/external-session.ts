import { background } from "../base/background.ts";
import type { Confine } from "../base/process/child-process.ts";
import { TrunklineError } from "../base/errors.ts";
import { carrierOf, endSpan } from "../base/trace.ts";
import { METHODS } from "../protocol/acp/methods.ts";
import type { NewSessionParams, SettingsResult } from "../protocol/acp/schema.gen.ts";
import { fromWire } from "../protocol/acp/session-errors.ts";
import type {
  AgentOpenOptions,
  AgentSession,
  Import,
  PauseWish,
  SessionSettings,
  SessionUpdate,
  Turn,
  TurnEnd,
} from "../session/agent.ts";
import { chosenIn, inBothForms, optionOf, withChoice, withOptions } from "../session/settings.ts";
import type { AgentIdentity } from "./command-environment.ts";
import { pauseWish } from "./commands/pause.ts";
import type { AgentProcess, ExternalAgent } from "./external-agent.ts";
import { restoreSettings } from "./external-settings.ts";
import { explainLogin, type ExternalCapabilities } from "./external-capabilities.ts";
import type { CommandSandbox } from "./files/command-sandbox.ts";
import { ExternalServices } from "./external-services.ts";
import { Speaker } from "./turn/speaker.ts";

export interface ExternalSessionOptions extends AgentOpenOptions {
  /** The identity that the agent uses for git. */
  readonly identity: AgentIdentity | undefined;
  readonly confine: Confine;
  readonly sandbox?: CommandSandbox | undefined;
}

/** What is stored for the next start: the agent's own id of the session. */
interface Memory {
  readonly sessionId?: string;
}

/** Updates after which reading from the agent waits for the disk. */
const WAIT_EVERY = 256;

/** One session of an agent that is another program. */
export class ExternalSession implements AgentSession {
  readonly #agent: ExternalAgent;
  readonly #options: ExternalSessionOptions;
  readonly services: ExternalServices;
  #process: AgentProcess | undefined;
  #beginning: Promise<void> | undefined;
  #remoteId = "";
  #settings: SessionSettings | undefined;
  #turn: Turn | undefined;
  /** Updates since reading last waited. */
  #heard = 0;
  /** ACP session-setup § Loading Sessions: the agent replays the session, which our log has already. */
  #isLoading = false;
  /** What the agent replays is stored: it began the session itself. */
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
    this.#remoteId = ((options.memory ?? {}) as Memory).sessionId ?? "";
  }

  get settings(): SessionSettings {
    return this.#settings ?? {};
  }

  /** Creates the session at the agent, or loads it there. Does nothing if the process is the same. */
  async begin(): Promise<AgentProcess> {
    const process = await this.#agent.process(this.#options.owner, this.#options.identity);
    if (process === this.#process) return process;
    // A prompt and a change of settings may both find the agent dead; the session is opened once.
    if (this.#beginning !== undefined) {
      await this.#beginning;
      return this.begin();
    }
    const { chosen } = this.#options;
    const wanted = this.#settings === undefined ? chosen : chosenIn(this.#settings);
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
      if (this.#hasForgotten) await this.#admit(turn);
      // ACP prompt-turn § Cancellation: the agent ignores a cancel that arrives before the prompt.
      if (turn.stop.signal.aborted) return { stopReason: "cancelled" };
      turn.stop.add({ stopped: () => connection.cancel(sessionId) });
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
      if (!(error instanceof TrunklineError) || error.code !== "closed") throw fromWire(error);
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

  /** ACP session/update of the agent. */
  heard(update: SessionUpdate): Promise<void> | undefined {
    if (this.#isLoading) return undefined;
    if (update.sessionUpdate === "current_mode_update") {
      this.#settings = withChoice(this.settings, "mode", String(update.currentModeId));
      const { configOptions = [] } = inBothForms(this.#settings);
      background(
        this.#say({ sessionUpdate: "config_option_update", configOptions }),
        "Telling of a mode",
      );
    } else if (update.sessionUpdate === "config_option_update") {
      this.#take({ configOptions: update.configOptions as never });
    }
    const stored = this.#say(this.services.terminals.translate(update));
    // Waiting for each update would need a commit for each.
    if (++this.#heard < WAIT_EVERY) return undefined;
    this.#heard = 0;
    return stored;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.services.terminals.clear();
    await this.#options.sandbox?.[Symbol.asyncDispose]();
    const process = this.#process;
    if (process === undefined) return;
    process.sessions.delete(this.#remoteId);
    if (!process.capabilities.canClose) return;
    const sessionId = this.#remoteId;
    await process.connection.request(METHODS.closeSession, { sessionId }).catch(() => {});
  }

  async #beginAt(process: AgentProcess): Promise<void> {
    // Terminals of the process before.
    await this.services.terminals.clear();
    const { imports } = this.#options;
    if (imports !== undefined && this.#remoteId === "") await this.#import(process, imports);
    else if (!(await this.#load(process))) await this.#create(process);
    this.#process = process;
  }

  /** The parameters of session/new or session/load, as far as the agent supports them. */
  #setup(capabilities: ExternalCapabilities): NewSessionParams {
    const { cwd, mcpServers, additionalDirectories: folders, log } = this.#options;
    const unfit = mcpServers.filter((server) => !capabilities.supportsServer(server));
    for (const { name, type } of unfit) log.warn("agent.server-not-taken", { server: name, type });
    const setup = {
      cwd,
      mcpServers: mcpServers.filter((server) => capabilities.supportsServer(server)),
    };
    const isMore = capabilities.supportsDirectories && folders.length > 0;
    return isMore ? { ...setup, additionalDirectories: [...folders] } : setup;
  }

  #say(update: SessionUpdate): Promise<void> | undefined {
    if (this.#isImporting) return this.#options.imports?.update(asImported(update));
    if (this.#turn !== undefined) return this.#turn.update(update);
    this.#options.update(update);
    return undefined;
  }

  /** Takes over a session that the agent has begun itself, with what it replays of it. */
  async #import(process: AgentProcess, imports: Import): Promise<void> {
    const { loadForeign, refuseLiveWriter } = await import("./external-import.ts");
    await refuseLiveWriter(this.#agent, imports, this.#options.cwd);
    const { sessions, capabilities } = process;
    sessions.add(imports.id, this);
    this.#isImporting = true;
    try {
      const setup = this.#setup(capabilities);
      const { sessionId, settings } = await loadForeign(this.#agent, process, imports, setup);
      sessions.add(sessionId, this);
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
    if (sessionId === "" || !(capabilities.canResume || capabilities.canLoad)) return false;
    const method = capabilities.canResume ? METHODS.resumeSession : METHODS.loadSession;
    const { log } = this.#options;
    sessions.add(sessionId, this);
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
    this.#hasForgotten ||= this.#hasSpoken || (await isBegun(history));
    const ask = () => connection.request(METHODS.newSession, this.#setup(capabilities));
    const begun = sessions.begin(this, ask).catch((error: unknown) => {
      throw explainLogin(fromWire(error), this.#agent, connection.agent.authMethods ?? []);
    });
    const { created, early } = await begun;
    this.#remoteId = created.sessionId;
    this.#take(created);
    for (const update of early) background(this.heard(update), "Telling what an agent said first");
    await remember({ sessionId: this.#remoteId });
  }

  async #admit(turn: Turn): Promise<void> {
    this.#hasForgotten = false;
    const title = `Agent '${this.#agent.name}' had to start a new session`;
    await new Speaker(turn).notice("warning", title, "it does not know the conversation so far");
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

/** Marks what was said before the session became ours. */
function asImported(update: SessionUpdate): SessionUpdate {
  const meta = (update._meta ?? {}) as Readonly<Record<string, unknown>>;
  const trunkline = { ...(meta.trunkline as object | undefined), imported: true };
  return { ...update, _meta: { ...meta, trunkline } };
}

async function isBegun(history: AgentOpenOptions["history"]): Promise<boolean> {
  for await (const entries of history ?? []) if (entries.length > 0) return true;
  return false;
}

function rethrow(error: unknown): never {
  throw fromWire(error);
}
