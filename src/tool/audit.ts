/** One call that was made or refused. Arguments are masked before they get here. */
export interface AuditEntry {
  readonly time: string;
  readonly door: string;
  readonly caller: string;
  /** The principal's id; left out for the owner of the data folder. */
  readonly principal?: string | undefined;
  /** Tells the client apart from others of that name. */
  readonly client: string;
  /** Left out where it is the client's connection itself. */
  readonly session?: string | undefined;
  readonly project?: string | undefined;
  readonly tool: string;
  readonly arguments: unknown;
  /** "begun": it is answered before it is over, and what it comes to has a record of its own. */
  readonly outcome: "ok" | "error" | "refused" | "cancelled" | "begun";
  /** Why, when it is not ok. */
  readonly reason?: string | undefined;
  readonly milliseconds: number;
}

/** Where the record of calls is kept: append-only, in the order of their ends. */
export interface Audit {
  record(entry: AuditEntry): void;
}

let at = 0;
let text = "";

/** The present moment as text. Made once for each millisecond, since it costs more than a call. */
export function timestamp(): string {
  const now = Date.now();
  if (now !== at) {
    at = now;
    text = new Date(now).toISOString();
  }
  return text;
}
