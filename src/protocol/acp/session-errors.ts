import { visible } from "../../base/text/visible.ts";
import { ACP, type Code, STANDARD, TRUNKLINE } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { SessionError, type SessionProblem } from "../../session/session-error.ts";

/** ACP message specification § ACP-Specific Errors. */
const CODE_OF: Readonly<Record<SessionProblem, Code>> = {
  "session-not-found": ACP.sessionNotFound,
  "session-expired": ACP.sessionExpired,
  "session-locked": ACP.sessionLocked,
  "auth-required": ACP.authRequired,
  "tool-not-found": ACP.toolNotFound,
  "tool-disabled": ACP.toolDisabled,
  "tool-timeout": ACP.toolTimeout,
  "file-not-found": ACP.fileNotFound,
  "permission-denied": ACP.permissionDenied,
  "file-too-large": ACP.fileTooLarge,
  "mcp-error": ACP.mcpError,
  "mcp-unavailable": ACP.mcpUnavailable,
};

/** Turns a failure into a wire error: the message is the specification's, the details are in `data`. */
export function toWire(error: unknown): unknown {
  if (!(error instanceof SessionError)) return error;
  const { code, message } = CODE_OF[error.problem];
  return new RpcError(code, message, { ...error.data, details: visible(error.message) });
}

/** The error for parameters with an impossible value. */
export function wrongParams(what: string): RpcError {
  return RpcError.of(STANDARD.invalidParams, what);
}

/** Answers a prompt whose turn was interrupted by the end of its process. */
export function interruptedTurn(): RpcError {
  const why =
    "The process that worked on this prompt has ended. Send the prompt again to continue the session.";
  return RpcError.of(TRUNKLINE.interrupted, why, { interrupted: true });
}

/** Turns a wire error of another agent or client into a failure of ours. */
export function fromWire(error: unknown): unknown {
  if (!(error instanceof RpcError)) return error;
  const { data, message } = error;
  for (const [problem, code] of Object.entries(CODE_OF)) {
    if (code.code !== error.code) continue;
    const fields = typeof data === "object" && data !== null ? data : {};
    return new SessionError(problem as SessionProblem, message, { ...fields }, { cause: error });
  }
  return error;
}
