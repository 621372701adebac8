import type {
  Agent,
  AgentOpenOptions,
  AgentSession,
  SessionModels,
  SessionModes,
  SessionSettings,
  SessionUpdate,
  Turn,
  TurnEnd,
} from "../../src/session/agent.ts";
import type { PermissionRequest } from "../../src/session/permission/permission.ts";

export type Script = (turn: Turn, session: ScriptedSession) => Promise<TurnEnd | void>;

/** An agent that does what a test tells it to. */
export class ScriptedAgent implements Agent {
  readonly name = "scripted";
  readonly sessions: ScriptedSession[] = [];
  script: Script;

  constructor(script: Script = async () => {}) {
    this.script = script;
  }

  async open(options: AgentOpenOptions): Promise<ScriptedSession> {
    const session = new ScriptedSession(this, options);
    this.sessions.push(session);
    options.update({
      sessionUpdate: "available_commands_update",
      availableCommands: [{ name: "init", description: "Initialize project" }],
    });
    return session;
  }
}

export class ScriptedSession implements AgentSession {
  readonly options: AgentOpenOptions;
  isDisposed = false;
  readonly #agent: ScriptedAgent;
  #modes: SessionModes;
  #models: SessionModels;

  constructor(agent: ScriptedAgent, options: AgentOpenOptions) {
    this.#agent = agent;
    this.options = options;
    const { modeId = "build", modelId = "anthropic/claude-3-5-sonnet-20241022" } = options.chosen;
    this.#modes = {
      availableModes: [
        { id: "build", name: "Build", description: "General purpose coding assistant" },
        { id: "architect", name: "Architect" },
      ],
      currentModeId: modeId,
    };
    this.#models = {
      currentModelId: modelId,
      availableModels: [
        { modelId: "anthropic/claude-3-5-sonnet-20241022", name: "Claude 3.5 Sonnet" },
        { modelId: "openai/gpt-4", name: "GPT-4" },
      ],
    };
  }

  get settings(): SessionSettings {
    return { modes: this.#modes, models: this.#models };
  }

  async prompt(turn: Turn): Promise<TurnEnd> {
    return (await this.#agent.script(turn, this)) ?? { stopReason: "end_turn" };
  }

  async setMode(currentModeId: string): Promise<void> {
    this.#modes = { ...this.#modes, currentModeId };
  }

  async setModel(currentModelId: string): Promise<void> {
    this.#models = { ...this.#models, currentModelId };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isDisposed = true;
  }
}

/** A piece of what an agent says. */
export function chunk(text: string): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

/** The text of a turn's prompt. */
export function promptText(turn: Turn): string {
  return turn.prompt.map(({ text }) => (typeof text === "string" ? text : "")).join("");
}

/** A question of an agent, whose answer may be remembered. */
export const REQUEST: PermissionRequest = {
  toolCall: {
    toolCallId: "tool-456",
    title: "Run npm install",
    status: "pending",
    kind: "execute",
    locations: [],
  },
  options: [
    { optionId: "once", kind: "allow_once", name: "Allow once" },
    { optionId: "always", kind: "allow_always", name: "Always allow" },
    { optionId: "reject", kind: "reject_once", name: "Reject" },
  ],
  subject: { action: "run", command: "npm install", folder: ".", sandbox: "in" },
};

/** The answer that chooses an option of it. */
export const choose = (optionId: string) => ({
  result: { outcome: { outcome: "selected", optionId } },
});
