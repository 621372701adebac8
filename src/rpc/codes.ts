/** One numeric error of one dialect: what goes on the wire. */
export interface Code {
  readonly code: number;
  readonly message: string;
  /** What it means, for docs/LIMITS.md. */
  readonly meaning: string;
}

const code = (number: number, message: string, meaning: string): Code => ({
  code: number,
  message,
  meaning,
});

/** JSON-RPC 2.0 § 5.1. */
export const STANDARD = {
  parse: code(-32700, "Parse error", "The text is not valid JSON, or not valid UTF-8"),
  invalidRequest: code(-32600, "Invalid Request", "The JSON is not a JSON-RPC message"),
  methodNotFound: code(-32601, "Method not found", "The method does not exist"),
  invalidParams: code(
    -32602,
    "Invalid params",
    "A parameter is missing or wrong; the message names it",
  ),
  internal: code(
    -32603,
    "Internal error",
    "A fault of ours; `data.correlationId` finds it in the log",
  ),
} as const;

/** ACP message specification, "ACP-Specific Errors". */
export const ACP = {
  // Today's ACP clients read -32000 as "authentication required", so it is never sent for a lost
  // connection: a peer whose connection is lost cannot be told anyway.
  connectionLost: code(-32000, "Connection lost", "Listed by the specification, never sent"),
  authRequired: code(
    -32000,
    "Authentication required",
    "Sign in first (`authenticate`), or give the model's provider another key",
  ),
  timeout: code(-32001, "Timeout", "The operation took longer than its limit"),
  sessionNotFound: code(-31900, "Session not found", "No session has this id"),
  sessionExpired: code(-31901, "Session expired", "The session was closed or deleted"),
  sessionLocked: code(-31902, "Session locked", "Another operation holds the session"),
  toolNotFound: code(-31800, "Tool not found", "No tool has this name"),
  toolDisabled: code(-31801, "Tool disabled", "The tool is switched off or held for review"),
  toolTimeout: code(-31802, "Tool timeout", "The tool took longer than its limit"),
  fileNotFound: code(-31700, "File not found", "No file is at this path"),
  permissionDenied: code(
    -31701,
    "Permission denied",
    "The path may not be read or written, or the token does not allow it",
  ),
  fileTooLarge: code(-31702, "File too large", "The file is over the size limit"),
  mcpError: code(-31600, "MCP server error", "An MCP server answered with a failure"),
  mcpUnavailable: code(-31601, "MCP server unavailable", "An MCP server does not answer"),
  resourceNotFound: code(-32002, "Resource not found", "No session has this id (version 2)"),
  cancelled: code(-32800, "Request cancelled", "The caller sent `$/cancel_request`"),
} as const;

/** Model Context Protocol, all revisions. */
export const MCP = {
  resourceNotFound: code(
    -32002,
    "Resource not found",
    "No resource has this URI (up to 2025-11-25)",
  ),
  headerMismatch: code(
    -32020,
    "Header mismatch",
    "An HTTP header contradicts the body (2026-07-28)",
  ),
  missingCapability: code(
    -32021,
    "Missing required client capability",
    "See `data.requiredCapabilities`",
  ),
  unsupportedVersion: code(-32022, "Unsupported protocol version", "See `data.supported`"),
} as const;

/** RemoteJuggler, "RemoteJuggler Errors": only in its own dialect, where -32001 is not a timeout. */
export const JUGGLER = {
  identityNotFound: code(-32001, "Identity not found", "The requested identity does not exist"),
  validationFailed: code(-32002, "Validation failed", "SSH or API connectivity failed"),
  keychain: code(-32003, "Keychain error", "The token could not be stored or read"),
  config: code(-32004, "Config error", "The configuration file has a fault"),
} as const;

/** Ours, where no document names a code. */
export const TRUNKLINE = {
  rateLimited: code(
    -32029,
    "Rate limit exceeded",
    "Too many calls; `data.retryAfterMs` says when to try again",
  ),
  busy: code(-32028, "Too many requests in flight", "Wait for an answer before sending more"),
  config: code(
    -32030,
    "Configuration error",
    "A setting is wrong or missing; the message names it",
  ),
  refused: code(
    -32031,
    "Not allowed",
    "A rule or a missing consent forbids it; the message says which",
  ),
  unavailable: code(
    -32032,
    "Unavailable",
    "A server, a process or a forge does not answer or cannot do it now; try again later",
  ),
  closed: code(-32033, "Closed", "What was asked is ending or has ended"),
  storage: code(-32034, "Storage failure", "The disk is full, broken or not writable"),
  interrupted: code(-32035, "Interrupted", "The process that worked on it has ended; ask again"),
  badAnswer: code(-32036, "Bad answer", "The answer of another program breaks its protocol"),
} as const;

export const ALL_CODES = { STANDARD, ACP, MCP, JUGGLER, TRUNKLINE } as const;
