import type { Principal } from "../../base/principal.ts";

/** A client that takes part in sessions: an editor, a dashboard, a terminal. */
export interface SessionClient {
  /** Name to show to people. */
  readonly name: string;
  /** Who uses the client. */
  readonly principal: Principal;
  readonly capabilities: ClientCapabilities;
  /** ACP version 2: the client also receives its own prompts, and updates on when its turns begin and end. */
  readonly isEchoed?: boolean;
  /**
   * A random id by which the log knows the client's prompts. It stays the same when the client is served by
   * another process.
   */
  readonly origin?: string;
  /** The connection has ended. */
  readonly isGone: boolean;
  /** Whether the client joined that session only to watch it. A client without this method controls all. */
  readonly observes?: (sessionId: string) => boolean;
  /**
   * Sends an update. Returns undefined when there is room for more, else a promise that resolves when
   * there is. Updates sent before it resolves are buffered. `counts` is told, now or later, how many
   * messages beyond the first it takes.
   */
  show(
    sessionId: string,
    shown: ShownUpdate,
    counts?: (messages: number) => void,
  ): Promise<void> | undefined;
  /** The session sends it no more updates, unless it attaches again. */
  detached?(sessionId: string): void;
  /** Tells the client something that is no update. */
  notify?(method: string, params: object): void;
  /** Another process has taken the session. The client was shown its events up to `after`. */
  taken?(sessionId: string, after: number): void;
  /** Sends a request. Rejects with the error that the client answered. */
  ask(method: ClientMethod, params: object, options: AskOptions): Promise<unknown>;
}

export type ClientMethod =
  | "session/request_permission"
  | "fs/read_text_file"
  | "fs/write_text_file"
  | "terminal/create"
  | "terminal/output"
  | "terminal/wait_for_exit"
  | "terminal/kill"
  | "terminal/release"
  | "elicitation/create";

export interface AskOptions {
  /** Cancels the request; the client is notified. */
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number | undefined;
}

export interface ClientCapabilities {
  readonly readTextFile: boolean;
  readonly writeTextFile: boolean;
  readonly terminal: boolean;
  /** Elicitations that are forms, and those that are pages to visit. */
  readonly forms: boolean;
  readonly pages: boolean;
  readonly notices: boolean;
  readonly compaction: boolean;
  /** Plans with ids, as entries or as text (`plan_update`). */
  readonly plans: boolean;
  /** Subagents as sessions of their own (`subagent_update`). */
  readonly subagents: boolean;
  /** Config options that are on or off. */
  readonly booleans: boolean;
  /**
   * The output of an agent's commands: as text in the tool call; in `_meta.terminal_output` or
   * `_meta.terminal_output_delta` of the tool call; or as updates of its own (ACP version 2).
   */
  readonly terminals: "text" | "output" | "delta" | "updates";
}

/** An update as clients get it. */
export interface ShownUpdate {
  /** Number of the last event that it contains. */
  readonly seq: number;
  readonly kind: string;
  /** The JSON text of the update. */
  readonly text: string;
  /** The log has it as an update, so it can be read from there again. */
  readonly isInLog?: boolean | undefined;
}
