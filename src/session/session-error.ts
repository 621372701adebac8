import { type ErrorCode, TrunklineError } from "../base/errors.ts";

/** Failures with an error code of their own (ACP message specification § ACP-Specific Errors). */
const CODES = {
  "session-not-found": "not-found",
  "session-expired": "closed",
  "session-locked": "conflict",
  "auth-required": "untrusted",
  "tool-not-found": "not-found",
  "tool-disabled": "unavailable",
  "tool-timeout": "timeout",
  "file-not-found": "not-found",
  "permission-denied": "untrusted",
  "file-too-large": "limit",
  "mcp-error": "unavailable",
  "mcp-unavailable": "unavailable",
} satisfies Readonly<Record<string, ErrorCode>>;

export type SessionProblem = keyof typeof CODES;

/** A failure in a session, which a dialect maps to its error code. */
export class SessionError extends TrunklineError {
  readonly problem: SessionProblem;
  /** Fields for programs, such as `{ path }`. */
  readonly data: Readonly<Record<string, unknown>>;

  constructor(
    problem: SessionProblem,
    message: string,
    data: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(CODES[problem], message, options);
    this.problem = problem;
    this.data = data;
  }
}

/** The id of the process that has a session open, where that is why it cannot be opened here. */
export function holderOf(error: unknown): string | undefined {
  if (!(error instanceof SessionError)) return undefined;
  if (error.problem !== "session-locked") return gatewayOf(error)?.holder;
  const { holder } = (error.cause ?? {}) as { readonly holder?: unknown };
  return typeof holder === "string" ? holder : undefined;
}

/** A gateway to which a session has moved, as a holder, and the number of the last event that is here. */
export function gatewayOf({ cause }: Error): { holder: string; last: number } | undefined {
  const { movedTo, last = 0 } = (cause ?? {}) as {
    readonly movedTo?: { readonly url: string; readonly session: string };
    readonly last?: number;
  };
  const isGateway = movedTo !== undefined && /^wss?:/.test(movedTo.url);
  return isGateway ? { holder: `${movedTo.url}#${movedTo.session}`, last } : undefined;
}

/** The address and the session of such a holder; undefined for a process. */
export function readGatewayHolder(holder: string): { url: string; session: string } | undefined {
  const [, url, session] = /^(wss?:[^#]*)#(.*)$/.exec(holder) ?? [];
  return url === undefined || session === undefined ? undefined : { url, session };
}

/** Whether the process that has a session open was asked, and did not answer. */
export function isSilent(error: unknown): boolean {
  return error instanceof Error && (error as { readonly isSilent?: unknown }).isSilent === true;
}

export function unknownSession(id: string): SessionError {
  return new SessionError("session-not-found", `There is no session '${id.slice(0, 64)}'.`);
}

/** The error for a session that the store did not let us hold. */
export function notHeld(id: string, error: unknown): unknown {
  if (!(error instanceof TrunklineError)) return error;
  if (error.code === "not-found") return unknownSession(id);
  if (error.code !== "conflict" && error.code !== "closed") return error;
  const problem = error.code === "conflict" ? "session-locked" : "session-expired";
  const { movedTo } = error as { readonly movedTo?: unknown };
  const data = movedTo === undefined ? {} : { movedTo };
  return new SessionError(problem, error.message, data, { cause: error });
}

/** Another process has taken the session, since this one was stopped or too busy to answer. */
export function takenOver(id: string): SessionError {
  const why = "while this one did not answer, and its turn was interrupted";
  const says = `Another Trunkline has taken session '${id}' over ${why}.`;
  return new SessionError("session-locked", says, { interrupted: true });
}

/** Another process took the session while its agent was started here. */
export function movedAway(id: string): TrunklineError {
  return new TrunklineError("unavailable", `Session '${id}' has moved. Open it again.`);
}

export function stopping(): TrunklineError {
  return new TrunklineError("closed", "Trunkline is stopping");
}

/** ACP session-setup: instructions of the client that an agent cannot be given. */
export function withoutSystemPrompt({ name }: { readonly name: string }): TrunklineError {
  const why = "takes no system prompt of the client. Leave it out.";
  return new TrunklineError("usage", `Agent '${name}' ${why}`);
}
