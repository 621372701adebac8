import { ACP, JUGGLER, MCP, STANDARD, TRUNKLINE } from "../../src/rpc/codes.ts";

export const ALL_CODES = { STANDARD, ACP, MCP, JUGGLER, TRUNKLINE } as const;

type AllMeanings = {
  readonly [Domain in keyof typeof ALL_CODES]: Readonly<
    Record<keyof (typeof ALL_CODES)[Domain], string>
  >;
};

/** What each error code means, for docs/LIMITS.md. */
export const MEANINGS: AllMeanings = {
  STANDARD: {
    parse: "The text is not valid JSON, or not valid UTF-8",
    invalidRequest: "The JSON is not a JSON-RPC message",
    methodNotFound: "The method does not exist",
    invalidParams: "A parameter is missing or wrong; the message names it",
    internal: "A fault of ours; `data.correlationId` finds it in the log",
  },
  ACP: {
    connectionLost: "Listed by the specification, never sent",
    authRequired: "Sign in first (`authenticate`), or give the model's provider another key",
    timeout: "The operation took longer than its limit",
    sessionNotFound: "No session has this id",
    sessionExpired: "The session was closed or deleted",
    sessionLocked: "Another operation holds the session",
    toolNotFound: "No tool has this name",
    toolDisabled: "The tool is switched off or held for review",
    toolTimeout: "The tool took longer than its limit",
    fileNotFound: "No file is at this path",
    permissionDenied: "The path may not be read or written, or the token does not allow it",
    fileTooLarge: "The file is over the size limit",
    mcpError: "An MCP server answered with a failure",
    mcpUnavailable: "An MCP server does not answer",
    resourceNotFound: "No session has this id (version 2)",
    cancelled: "The caller sent `$/cancel_request`",
  },
  MCP: {
    resourceNotFound: "No resource has this URI (up to 2025-11-25)",
    headerMismatch: "An HTTP header contradicts the body (2026-07-28)",
    missingCapability: "See `data.requiredCapabilities`",
    unsupportedVersion: "See `data.supported`",
  },
  JUGGLER: {
    identityNotFound: "The requested identity does not exist",
    validationFailed: "SSH or API connectivity failed",
    keychain: "The token could not be stored or read",
    config: "The configuration file has a fault",
  },
  TRUNKLINE: {
    rateLimited: "Too many calls; `data.retryAfterMs` says when to try again",
    busy: "Wait for an answer before sending more",
    config: "A setting is wrong or missing; the message names it",
    refused: "A rule or a missing consent forbids it; the message says which",
    unavailable:
      "A server, a process or a forge does not answer or cannot do it now; try again later",
    closed: "What was asked is ending or has ended",
    storage: "The disk is full, broken or not writable",
    interrupted: "The process that worked on it has ended; ask again",
    badAnswer: "The answer of another program breaks its protocol",
  },
};
