import type { Principal } from "../../base/principal.ts";
import type { Stop } from "../../base/stop.ts";

/** Somebody who takes part in sessions: an editor, a dashboard, a terminal. */
export interface SessionClient {
  /** Its name for people. */
  readonly name: string;
  /** Who is behind it. */
  readonly principal: Principal;
  readonly capabilities: ClientCapabilities;
  /** It is shown its own prompts like those of others, and how its turns begin and end. */
  readonly isEchoed?: boolean;
  /** Its connection is over. */
  readonly isGone: boolean;
  /**
   * Shows an update. Undefined when there is room for more, else a promise of it; what is shown
   * before it resolves is still taken.
   */
  show(sessionId: string, shown: ShownUpdate): Promise<void> | undefined;
  /** It fell too far behind: from now on it is shown nothing of this session, until it resumes. */
  lagged(sessionId: string, after: number): void;
  /** Asks it something. Rejects with what it answered. */
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
  /** Gives the question up; the client is told. */
  readonly stop?: Stop;
  readonly timeout?: number;
}

export interface ClientCapabilities {
  readonly readTextFile: boolean;
  readonly writeTextFile: boolean;
  readonly terminal: boolean;
  /** Questions that are forms, and those that are pages to visit. */
  readonly forms: boolean;
  readonly pages: boolean;
  readonly notices: boolean;
  readonly compaction: boolean;
}

/** An update as clients get it. */
export interface ShownUpdate {
  /** The number of the last event that it comes of. */
  readonly seq: number;
  readonly kind: string;
  /** The JSON text of the update. */
  readonly text: string;
}
