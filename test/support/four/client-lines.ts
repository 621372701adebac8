import type { Json } from "../acp-app.ts";

/** Where the gateway is, and which session is meant. */
export interface Target {
  readonly url: string;
  readonly acp: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly sessionId: string;
  readonly cwd: string;
}

/** A line to a client that runs in a process of its own. */
export interface ClientCommand {
  readonly connect?: Target;
  readonly ask?: { readonly number: number; readonly method: string; readonly params: object };
  readonly cancel?: true;
  /** The title of a permission request that it allows. */
  readonly answer?: string;
}

/** A line of such a client. */
export interface ClientReport {
  /** What it was shown so far does not count: it loads the session. */
  readonly reset?: true;
  readonly joined?: true;
  /** Its connection has ended. */
  readonly lost?: true;
  readonly update?: Json;
  /** Events of the log, as the dashboard gets them. */
  readonly events?: readonly Json[];
  /** The title of a permission request. */
  readonly asked?: string;
  readonly withdrawn?: string;
  readonly answered?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string; readonly data?: unknown };
}
