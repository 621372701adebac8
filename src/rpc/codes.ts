/** A numeric error of a dialect, as it is sent. Its meaning is documented in scripts/schema. */
export interface Code {
  readonly code: number;
  readonly message: string;
}

const code = (number: number, message: string): Code => ({ code: number, message });

/** JSON-RPC 2.0 § 5.1. */
export const STANDARD = {
  parse: code(-32700, "Parse error"),
  invalidRequest: code(-32600, "Invalid Request"),
  methodNotFound: code(-32601, "Method not found"),
  invalidParams: code(-32602, "Invalid params"),
  internal: code(-32603, "Internal error"),
} as const;

/** ACP message specification, "ACP-Specific Errors". */
export const ACP = {
  // Today's ACP clients read -32000 as "authentication required", so it is never sent for a lost
  // connection: a peer whose connection is lost cannot be told anyway.
  connectionLost: code(-32000, "Connection lost"),
  authRequired: code(-32000, "Authentication required"),
  timeout: code(-32001, "Timeout"),
  sessionNotFound: code(-31900, "Session not found"),
  sessionExpired: code(-31901, "Session expired"),
  sessionLocked: code(-31902, "Session locked"),
  toolNotFound: code(-31800, "Tool not found"),
  toolDisabled: code(-31801, "Tool disabled"),
  toolTimeout: code(-31802, "Tool timeout"),
  fileNotFound: code(-31700, "File not found"),
  permissionDenied: code(-31701, "Permission denied"),
  fileTooLarge: code(-31702, "File too large"),
  mcpError: code(-31600, "MCP server error"),
  mcpUnavailable: code(-31601, "MCP server unavailable"),
  resourceNotFound: code(-32002, "Resource not found"),
  cancelled: code(-32800, "Request cancelled"),
} as const;

/** Model Context Protocol, all revisions. */
export const MCP = {
  resourceNotFound: code(-32002, "Resource not found"),
  headerMismatch: code(-32020, "Header mismatch"),
  missingCapability: code(-32021, "Missing required client capability"),
  unsupportedVersion: code(-32022, "Unsupported protocol version"),
} as const;

/** RemoteJuggler, "RemoteJuggler Errors": only in its own dialect, where -32001 is not a timeout. */
export const JUGGLER = {
  identityNotFound: code(-32001, "Identity not found"),
  validationFailed: code(-32002, "Validation failed"),
  keychain: code(-32003, "Keychain error"),
  config: code(-32004, "Config error"),
} as const;

/** Ours, where no document names a code. */
export const TRUNKLINE = {
  rateLimited: code(-32029, "Rate limit exceeded"),
  busy: code(-32028, "Too many requests in flight"),
  config: code(-32030, "Configuration error"),
  refused: code(-32031, "Not allowed"),
  unavailable: code(-32032, "Unavailable"),
  closed: code(-32033, "Closed"),
  storage: code(-32034, "Storage failure"),
  interrupted: code(-32035, "Interrupted"),
  badAnswer: code(-32036, "Bad answer"),
} as const;
