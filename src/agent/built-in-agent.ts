import { setTimeout as sleep } from "node:timers/promises";

import type { Agent, AgentOpenOptions, AgentSession } from "../session/agent.ts";
import { SessionError } from "../session/session-error.ts";
import type { ActsAs } from "./command-environment.ts";
import type { OpenCommandSandbox } from "./files/command-sandbox.ts";
import { BuiltInSession } from "./built-in-session.ts";
import type { ReviewComments } from "./commands/slash-command.ts";
import type { ModelSource } from "./models/models.ts";
import type { OpenOffer, OpenServers } from "./session-tools.ts";
import type { WebRules } from "./web/web-fetch.ts";
import { RETRY, type RetryLimits } from "./turn/ask-with-retry.ts";

export interface BuiltInAgentOptions {
  readonly models: ModelSource;
  /** The data folder. */
  readonly data: string;
  /** Opens the toolbox, when a model is to be offered its tools. */
  readonly offer?: OpenOffer;
  /** Starts the MCP servers of a session. Without it, clients are told that theirs are not used. */
  readonly openServers?: OpenServers;
  readonly reviews?: ReviewComments;
  /** Folders of the owner that may have `commands` and `skills`. */
  readonly userFolders?: readonly string[];
  /** Files and folders of Trunkline itself, which no tool may read or write. */
  readonly own?: readonly string[];
  /** Finds the identity under which commands run git. */
  readonly actsAs?: ActsAs;
  /** Opens the sandbox that commands run in. Without it, they run as they are. */
  readonly sandbox?: OpenCommandSandbox | undefined;
  /** From where pages may be fetched without a question. */
  readonly web?: WebRules;
  readonly limits?: Partial<AgentLimits>;
}

export interface AgentLimits {
  /** Requests to the model in one turn. */
  readonly maxSteps: number;
  /** Milliseconds for a tool that has no timeout of its own. */
  readonly toolTimeout: number;
  /** Milliseconds that opening a session waits for the lists of models. Turns wait four times that for tools. */
  readonly firstList: number;
  readonly retry: RetryLimits;
}

const LIMITS: AgentLimits = {
  maxSteps: 100,
  toolTimeout: 120_000,
  firstList: 500,
  retry: RETRY,
};

/**
 * Milliseconds after which the models of last time are listed anew: the first request of a process takes
 * time that would delay the answer to `session/new`.
 */
const REFRESH_AFTER = 100;

/** The agent that is part of Trunkline: a language model with tools, or commands without one. */
export class BuiltInAgent implements Agent {
  readonly name = "trunkline";
  readonly #options: BuiltInAgentOptions;
  readonly #limits: AgentLimits;

  constructor(options: BuiltInAgentOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  async open(options: AgentOpenOptions): Promise<AgentSession> {
    if (options.imports !== undefined) throw noneToImport(options.imports.id);
    const { models } = this.#options;
    const isKnown = (await models.recall?.()) === true;
    if (!isKnown) await this.#firstLists();
    const session = await BuiltInSession.open(options, { ...this.#options, limits: this.#limits });
    if (isKnown) session.refreshModels(REFRESH_AFTER);
    return session;
  }

  async #firstLists(): Promise<void> {
    const { models } = this.#options;
    const giveUp = new AbortController();
    // Local providers answer at once; the models of others are added when they answer.
    const late = sleep(this.#limits.firstList, undefined, { signal: giveUp.signal });
    await Promise.race([models.refresh(), late.catch(() => {})]);
    giveUp.abort();
  }
}

/** It stores nothing beside the sessions that are ours already. */
function noneToImport(id: string): SessionError {
  const why = "the built-in agent has no other sessions than those of `trunkline session list`";
  return new SessionError("session-not-found", `Cannot load session '${id}': ${why}.`);
}
