import { now } from "../base/event-loop.ts";
import { mask, maskText } from "../base/text/mask.ts";
import { type AuditEntry, timestamp } from "./audit.ts";
import type { ObservedCall } from "./call-observer.ts";
import { projectFolder } from "./tool.ts";

const LONGEST_NAME = 200;

/** A name that a caller made up is shortened before it is repeated in errors and the audit. */
export function short(name: string): string {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}

/** The record of a call, with secrets masked. */
export function auditEntry(
  { name, args, context }: ObservedCall,
  started: number,
  outcome: AuditEntry["outcome"],
  reason: string | undefined,
): AuditEntry {
  const { door, name: caller, principal, client } = context.caller;
  return {
    time: timestamp(),
    door,
    caller: short(caller),
    principal: principal.id === "" ? undefined : principal.id,
    client: short(client),
    // Where the connection is the session, record it once.
    session: context.session === client ? undefined : context.session,
    project: projectFolder(context),
    tool: short(name),
    arguments: mask(args),
    outcome,
    reason: reason === undefined ? undefined : maskText(reason),
    milliseconds: Math.round((now() - started) * 1000) / 1000,
  };
}
