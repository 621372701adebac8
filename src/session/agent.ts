import type { Log } from "../base/log.ts";
import type { Principal } from "../base/principal.ts";
import type { Stop } from "../base/stop.ts";
import type { PermissionOutcome, PermissionRequest } from "./permission/permission.ts";

/** One update of a conversation, in ACP's own shape (`session/update` → `update`). */
export type SessionUpdate = Readonly<Record<string, unknown>> & { readonly sessionUpdate: string };
export type ContentBlock = Readonly<Record<string, unknown>> & { readonly type: string };
export type McpServer = Readonly<Record<string, unknown>> & { readonly name: string };
export type Meta = Readonly<Record<string, unknown>>;

export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

/** Who works in sessions: the built-in agent, or another program that speaks ACP. */
export interface Agent {
  readonly name: string;
  /** Begins to work in a session, new or loaded. */
  open(options: AgentOpenOptions): Promise<AgentSession>;
}

export interface AgentOpenOptions {
  readonly sessionId: string;
  readonly cwd: string;
  /** Further folders that belong to the workspace, absolute. */
  readonly additionalDirectories: readonly string[];
  /** The id of the principal whose session it is. Nobody else's work is done in the same process. */
  readonly owner: string;
  /** The owner is no longer let in: what was started for the session ends at once. */
  readonly revoked: Stop;
  /** In today's form: stdio servers have no `type`, others `http` or `sse`. */
  readonly mcpServers: readonly McpServer[];
  /** What was said before, oldest first; undefined in a new session. */
  readonly history: AsyncIterable<HistoryEntry> | undefined;
  /** The modes, models and options that were last chosen, where the session is not new. */
  readonly chosen: ChosenSettings;
  /** What the agent last asked to be kept, such as its own name for this conversation. */
  readonly memory: unknown;
  /** Keeps a little something for the next time the session is opened; it must fit into JSON. */
  readonly remember: (memory: unknown) => Promise<void>;
  readonly log: Log;
  readonly _meta?: Meta;
  /** Outside of a turn: available commands, mode changes. */
  update(update: SessionUpdate): void;
}

/** What is remembered of a session's settings from one start of the agent to the next. */
export interface ChosenSettings {
  readonly modeId?: string;
  readonly modelId?: string;
  readonly configOptions?: Readonly<Record<string, unknown>>;
}

/** One thing that was said, as it was stored. */
export type HistoryEntry =
  | { readonly kind: "prompt"; readonly turnId: string; readonly prompt: readonly ContentBlock[] }
  | { readonly kind: "update"; readonly turnId?: string; readonly update: SessionUpdate }
  /** `interrupted`: the process died, or the agent failed, before the turn had an end. */
  | {
      readonly kind: "end";
      readonly turnId: string;
      readonly stopReason: StopReason | "interrupted";
    };

export interface AgentSession extends AsyncDisposable {
  /** As `session/new` answers them. They may change; then `update` tells. */
  readonly settings: SessionSettings;
  prompt(turn: Turn): Promise<TurnEnd>;
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
  readonly availableModes: readonly {
    readonly id: string;
    readonly name: string;
    readonly description?: string;
  }[];
}

export interface SessionModels {
  readonly currentModelId: string;
  readonly availableModels: readonly {
    readonly modelId: string;
    readonly name: string;
    readonly description?: string;
  }[];
}

/** One prompt while it is worked on. It goes on when clients come and go. */
export interface Turn {
  readonly id: string;
  readonly prompt: readonly ContentBlock[];
  /** Who prompted: what is done for it may reach no more than that principal may. */
  readonly principal: Principal;
  readonly _meta?: Meta;
  /** Somebody cancelled the turn, or the house shuts down. */
  readonly stop: Stop;
  /** What is said; resolves when it is stored and there is room for more. */
  update(update: SessionUpdate): Promise<void>;
  /** Asks whoever is attached (first answer wins); remembered rules answer at once. */
  requestPermission(request: PermissionRequest): Promise<PermissionOutcome>;
  /** Says that work goes on where nothing is said, such as a tool that runs long. */
  progressed(): void;
  /** What attached clients can do for the agent, as of now. */
  readonly client: TurnClient;
  /** Takes the prompts that came while this one runs and are meant to steer it. */
  steering?(): readonly (readonly ContentBlock[])[];
}

/** A member that is undefined is offered by none of the attached clients. */
export interface TurnClient {
  readonly fs?: ClientFiles;
  readonly terminal?: TerminalHost;
  readonly elicit?: (params: Readonly<Record<string, unknown>>) => Promise<unknown>;
  /** It shows `notice` updates. */
  readonly notices: boolean;
  /** It shows `compaction_update` and `compaction_summary_chunk`. */
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

/** A command that runs at a client. `release` ends it and lets go of it. */
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
