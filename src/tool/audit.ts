import { mask, maskText } from "../base/text/mask.ts";
import type { ObservedCall } from "./call-observer.ts";
import { projectFolder } from "./tool.ts";
/** One call that was made or refused. Arguments are masked before they get here. */
export interface AuditEntry {
  readonly time: string;
  /** The door that the call came through, such as "mcp". */
  readonly door: string;
  /** The name that the client gave, or that of its token. */
  readonly caller: string;
  /** The principal's id; left out for the owner of the data folder. */
  readonly principal?: string | undefined;
  /**
   * The person with whose own login at the server the call was made. Left out if the login is shared, or none
   * is needed.
   */
  readonly as?: string | undefined;
  /** Tells the client apart from others of that name. */
  readonly client: string;
  /** Left out where the client's connection is the session. */
  readonly session?: string | undefined;
  readonly project?: string | undefined;
  readonly tool: string;
  /** The arguments as they were sent. */
  readonly arguments: unknown;
  /** The arguments as the caller gave them, if a hook or the caller's profile has changed them. */
  readonly given?: unknown;
  /** "begun": the call runs as a task, whose end has a record of its own. */
  readonly outcome: "ok" | "error" | "refused" | "cancelled" | "begun";
  /** Why, when it is not ok. */
  readonly reason?: string | undefined;
  readonly milliseconds: number;
}

/** The record of calls: append-only, in the order in which they ended. */
export interface Audit {
  record(entry: AuditEntry): void;
}

const LONGEST_NAME = 200;

/** A name that a caller made up is shortened before it is repeated in errors and the audit. */
export function short(name: string): string {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}

/** The last time and its text. To format it costs more than the rest of a record. */
const last = { time: 0, text: "" };

/** The record of a call, with secrets masked. */
export function auditEntry(
  { name, args, given, context, tool }: ObservedCall,
  started: number,
  outcome: AuditEntry["outcome"],
  reason: string | undefined,
): AuditEntry {
  const { door, name: caller, principal, client } = context.caller;
  const now = Date.now();
  if (now !== last.time) last.text = new Date(now).toISOString();
  last.time = now;
  return {
    time: last.text,
    door,
    caller: short(caller),
    principal: principal.id === "" ? undefined : principal.id,
    as: tool?.person === "" ? "owner" : tool?.person,
    client: short(client),
    // Where the connection is the session, record it once.
    session: context.session === client ? undefined : context.session,
    project: projectFolder(context),
    tool: short(name),
    arguments: mask(args),
    ...(given === undefined ? undefined : { given: mask(given) }),
    outcome,
    reason: reason === undefined ? undefined : maskText(reason),
    milliseconds: Math.round((performance.now() - started) * 1000) / 1000,
  };
}
