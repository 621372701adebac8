import type { Log } from "../base/log.ts";
import type { Principal } from "../base/principal.ts";
import type { Span } from "../base/trace.ts";
import type { PermissionOutcome, PermissionRequest } from "./permission/permission.ts";

/** One update of a conversation, in ACP's own shape (`session/update` → `update`). */
export type SessionUpdate = Readonly<Record<string, unknown>> & { readonly sessionUpdate: string };
export type ContentBlock = Readonly<Record<string, unknown>> & { readonly type: string };
export type McpServer = Readonly<Record<string, unknown>> & { readonly name: string };
export type Meta = Readonly<Record<string, unknown>>;

/** A message of MCP, as ACP carries it (`mcp/message`). */
export interface McpMessage {
  readonly serverId: string;
  /** The id of the request. Notifications of the server have the id of the request that they belong to. */
  readonly requestId: string;
  readonly method: string;
  readonly params?: Meta | null | undefined;
}

/** The MCP servers that the session's client has itself. */
export interface ClientServers {
  /** Resolves to the outcome: an object with the server's `result` or `error`. */
  ask(
    message: McpMessage,
    signal: AbortSignal,
    heard: (message: McpMessage) => void,
  ): Promise<object>;
}

export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

/** Who works in sessions: the built-in agent, or another program that speaks ACP. */
export interface Agent {
  readonly name: string;
  /** Starts to work in a session, new or loaded. */
  open(options: AgentOpenOptions): Promise<AgentSession>;
  /** A page of the sessions that the agent has stored itself; absent where it stores none. */
  list?(query: ForeignQuery): Promise<ForeignPage>;
  /** Whether it accepts instructions of the client, or refuses them itself. */
  readonly takesSystemPrompt?: boolean;
  /** Answers a request that belongs to no session; absent where there is nothing to log in to. */
  request?(request: AgentRequest): Promise<unknown>;
}

/** A request of a client to an agent: to log in or out, or about its providers. */
export interface AgentRequest {
  /** Id of the principal that asks. */
  readonly owner: string;
  readonly method: "authenticate" | "logout" | "auth/status" | "providers/list";
  readonly params: Meta;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly providers?: readonly ProviderChoice[] | undefined;
  /** Shows a form or a page to the person behind the request. */
  readonly elicit: (question: Meta) => Promise<unknown>;
  /** Sends the client a notification. */
  readonly notify: (method: string, params: Meta) => void;
}

/** A client's choice for a provider of an agent. Clients with different choices share no process. */
export interface ProviderChoice {
  readonly method: "providers/set" | "providers/disable";
  readonly params: Meta;
}

export interface ForeignQuery {
  /** Id of the principal that asks. */
  readonly owner: string;
  readonly cwd?: string | undefined;
  readonly cursor?: string | undefined;
}

/** Sessions that an agent has stored itself, with the agent's ids. */
export interface ForeignPage {
  readonly sessions: readonly {
    readonly id: string;
    readonly cwd: string;
    readonly title?: string | undefined;
    readonly updatedAt?: string | undefined;
  }[];
  readonly nextCursor?: string | undefined;
}

/** A session that the agent has begun itself, and which becomes one of ours. */
export interface Import {
  /** The agent's own id of the session. */
  readonly id: string;
  /** It is taken over even if a program seems to be writing to it. */
  readonly isForced: boolean;
  /** Stores what the agent replays. Resolves when it is on disk. */
  readonly update: (update: SessionUpdate) => Promise<void>;
}

export interface AgentOpenOptions {
  readonly sessionId: string;
  readonly cwd: string;
  /** Further folders that belong to the workspace, absolute. */
  readonly additionalDirectories: readonly string[];
  /** Id of the principal that owns the session. Sessions of different owners share no process. */
  readonly owner: string;
  /**
   * Stops when the owner's access is revoked, or the program stops before the agent has begun: all that was
   * started for the session ends at once.
   */
  readonly revoked: AbortSignal;
  /** As the published ACP schema has them: stdio servers have no `type`, others `http`, `sse` or `acp`. */
  readonly mcpServers: readonly McpServer[];
  /** Reaches those of type `acp`. */
  readonly clientServers?: ClientServers | undefined;
  /**
   * The history of the session, oldest first; undefined in a new session. What a summary has replaced
   * (`summaryOf`) may be missing.
   */
  readonly history: AsyncIterable<readonly HistoryEntry[]> | undefined;
  /** Where the session is one that the agent has begun itself: `open` throws if it cannot be loaded. */
  readonly imports?: Import | undefined;
  /** The mode, model and options that were last chosen; empty in a new session. */
  readonly chosen: ChosenSettings;
  /** The value last given to `remember`, such as the agent's own id of the session. */
  readonly memory: unknown;
  /** Stores a small JSON value for the next time that the session is opened. */
  readonly remember: (memory: unknown) => Promise<void>;
  /** Throws if another process has taken the session. Asked before work that is not stored first. */
  readonly confirm?: () => Promise<void>;
  readonly log: Log;
  readonly _meta?: Meta | undefined;
  readonly providers?: readonly ProviderChoice[] | undefined;
  /** ACP session-setup: instructions of the client, for agents that take them. */
  readonly systemPrompt?: Meta | undefined;
  /** Tells the attached clients, and those that attach later, something that is no update. */
  notify?(method: string, params: Meta): void;
  /** Sends an update that belongs to no turn: available commands, mode changes. */
  update(update: SessionUpdate): void;
}

/** The settings of a session that are kept from one start of the agent to the next. */
export interface ChosenSettings {
  readonly modeId?: string;
  readonly modelId?: string;
  readonly configOptions?: Readonly<Record<string, unknown>>;
}

/** One stored entry of a session's history. */
export type HistoryEntry =
  | { readonly kind: "prompt"; readonly turnId: string; readonly prompt: readonly ContentBlock[] }
  | { readonly kind: "update"; readonly update: SessionUpdate }
  /** `interrupted`: the process died, or the agent failed, before the turn had an end. */
  | {
      readonly kind: "end";
      readonly turnId: string;
      readonly stopReason: StopReason | "interrupted";
    };

/** A part of the agent's work that ACP version 2 lets clients cancel by itself. */
export interface TurnPart {
  readonly kind: "tool_call" | "terminal";
  readonly id: string;
  /** The agent's id of the subagent that it belongs to. */
  readonly child?: string | undefined;
}

export type PauseWish = "pause" | "continue";

export interface AgentSession extends AsyncDisposable {
  /** As `session/new` answers them. When they change, the agent sends an update. */
  readonly settings: SessionSettings;
  prompt(turn: Turn): Promise<TurnEnd>;
  /** Whether a prompt is a command that costs nothing, so that it counts towards no limit. */
  isCommand?(prompt: readonly ContentBlock[]): boolean;
  /** Whether a prompt asks to pause or to continue the running turn, which the agent can do. */
  pausing?(prompt: readonly ContentBlock[]): PauseWish | undefined;
  /**
   * Passes a prompt that asks for a pause or its end on to an agent that pauses itself, while it works on
   * another. Resolves when the agent has taken it. Undefined if it is no such prompt, or no such agent.
   */
  passPausing?(prompt: readonly ContentBlock[]): Promise<PauseWish> | undefined;
  /** The session has a new title, which a person chose. */
  setTitle?(title: string): Promise<void>;
  /** Cancels the work of one subagent. */
  cancelSubagent?(child: string): void;
  /** Cancels one tool call or terminal; the turn goes on. False if that cannot be cancelled by itself. */
  cancelPart?(part: TurnPart): Promise<boolean>;
  setMode?(modeId: string): Promise<void>;
  setModel?(modelId: string): Promise<void>;
  setConfigOption?(id: string, value: unknown): Promise<void>;
}

export interface SessionSettings {
  readonly modes?: SessionModes;
  readonly models?: SessionModels;
  readonly configOptions?: readonly Readonly<Record<string, unknown>>[];
  readonly _meta?: Meta;
}

export interface SessionModes {
  readonly currentModeId: string;
  readonly availableModes: readonly (NamedChoice & { readonly id: string })[];
}

export interface SessionModels {
  readonly currentModelId: string;
  readonly availableModels: readonly (NamedChoice & { readonly modelId: string })[];
}

export interface NamedChoice {
  readonly name: string;
  readonly description?: string;
}

/** One prompt while an agent works on it (ACP prompt-turn). It continues when clients disconnect. */
export interface Turn {
  readonly id: string;
  readonly prompt: readonly ContentBlock[];
  /** Who prompted. What is done in the turn may reach no more than this principal may. */
  readonly principal: Principal;
  readonly _meta?: Meta;
  /** Set where the turn is traced. */
  readonly span?: Span | undefined;
  /** Stops when the turn is cancelled or the program shuts down. */
  readonly signal: AbortSignal;
  /** Sends an update. Resolves when it is stored and there is room for more. */
  update(update: SessionUpdate): Promise<void>;
  /** Asks all attached clients; the first answer wins. A remembered rule answers at once. */
  requestPermission(request: PermissionRequest): Promise<PermissionOutcome>;
  /** Restarts the timeout of the prompt while nothing is sent, such as during a long tool call. */
  progressed(): void;
  /** Runs work during which the agent is idle: its time counts neither as silence nor as time used. */
  whileWaiting?<T>(work: () => Promise<T>): Promise<T>;
  /** What the clients that are attached now can do for the agent. */
  readonly client: TurnClient;
  /** Takes the next steering prompt, in the order in which they came. */
  steering?(): readonly ContentBlock[] | undefined;
  /** Resolves when a person who has paused the turn continues or stops it. Undefined while it is not paused. */
  paused?(): Promise<void> | undefined;
}

/** The services of attached clients. A member is undefined if no client offers it. */
export interface TurnClient {
  readonly fs?: ClientFiles;
  readonly terminal?: TerminalHost;
  readonly elicit?: (params: Readonly<Record<string, unknown>>) => Promise<unknown>;
  /** A client shows `notice` updates. */
  readonly notices: boolean;
  /** A client shows `compaction_update` and `compaction_summary_chunk`. */
  readonly compaction: boolean;
}

export interface ClientFiles {
  readonly readTextFile?: (
    path: string,
    options?: { line?: number; limit?: number },
  ) => Promise<string>;
  readonly writeTextFile?: (path: string, content: string) => Promise<void>;
}

export interface TerminalHost {
  create(options: TerminalOptions): Promise<Terminal>;
}

export interface TerminalOptions {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly cwd?: string;
  readonly outputByteLimit?: number;
}

/** A command that runs at a client (ACP terminals). `release` kills it and frees its id. */
export interface Terminal {
  readonly terminalId: string;
  output(): Promise<TerminalOutput>;
  waitForExit(): Promise<TerminalExit>;
  kill(): Promise<void>;
  release(): Promise<void>;
}

export interface TerminalOutput {
  readonly output: string;
  readonly truncated: boolean;
  readonly exitStatus?: TerminalExit | null;
}

export interface TerminalExit {
  readonly exitCode?: number | null;
  readonly signal?: string | null;
}

export interface TurnEnd {
  readonly stopReason: StopReason;
  readonly usage?: Readonly<Record<string, unknown>>;
  readonly _meta?: Meta;
}
