import { background } from "../base/background.ts";
import type { Confine } from "../base/process/child-process.ts";
import { TrunklineError } from "../base/errors.ts";
import { METHODS } from "../protocol/acp/methods.ts";
import type { NewSessionParams, SettingsResult } from "../protocol/acp/schema.gen.ts";
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
import type { AgentIdentity } from "./command-environment.ts";
import type { AgentProcess, ExternalAgent } from "./external-agent.ts";
import { restoreSettings } from "./external-settings.ts";
import { explainLogin, type ExternalCapabilities } from "./external-capabilities.ts";
import { ExternalServices } from "./external-services.ts";
import { Speaker } from "./turn/speaker.ts";

export interface ExternalSessionOptions extends AgentOpenOptions {
  /** Whom the agent acts as. */
  readonly identity: AgentIdentity | undefined;
  readonly confine: Confine;
}

/** What is kept for the next time: the agent's own name for the conversation. */
interface Memory {
  readonly sessionId?: string;
}

/** Updates that may be on their way to the disk before the agent has to wait. */
const WAIT_EVERY = 256;

/** One conversation with somebody else's agent. */
export class ExternalSession implements AgentSession {
  readonly #agent: ExternalAgent;
  readonly #options: ExternalSessionOptions;
  readonly services: ExternalServices;
  #process: AgentProcess | undefined;
  #beginning: Promise<void> | undefined;
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

  /** Begins at the agent, or takes up what was begun there. */
  async begin(): Promise<AgentProcess> {
    const process = await this.#agent.process(this.#options.owner, this.#options.identity);
    if (process === this.#process) return process;
    // Who prompts and who chooses may both find that the agent has died: it is begun once.
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
      // Calling off what the agent has not heard of yet would call off nothing.
      if (turn.stop.signal.aborted) return { stopReason: "cancelled" };
      turn.stop.add({ stopped: () => connection.cancel(sessionId) });
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
      // One that was given up may end in the middle of the next.
      if (this.#turn === turn) this.#turn = undefined;
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
      background(
        this.#say({ sessionUpdate: "config_option_update", configOptions }),
        "Telling of a mode",
      );
    } else if (update.sessionUpdate === "config_option_update") {
      this.#take({ configOptions: update.configOptions as never });
    }
    const stored = this.#say(this.services.terminals.translate(update));
    // Waiting for the disk at each would make a commit of each.
    return ++this.#heard % WAIT_EVERY === 0 ? stored : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.services.terminals.clear();
    const process = this.#process;
    if (process === undefined) return;
    process.sessions.delete(this.#remoteId);
    if (!process.capabilities.canClose) return;
    const sessionId = this.#remoteId;
    await process.connection.request(METHODS.closeSession, { sessionId }).catch(() => {});
  }

  async #beginAt(process: AgentProcess): Promise<void> {
    // Those of an agent that died.
    await this.services.terminals.clear();
    if (!(await this.#load(process))) await this.#create(process);
    this.#process = process;
  }

  /** Where it works and with what, as far as it can. */
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
    if (this.#turn !== undefined) return this.#turn.update(update);
    this.#options.update(update);
    return undefined;
  }

  /** False where the agent cannot, or does not have it any more. */
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
