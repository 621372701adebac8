import { TrunklineError } from "../../base/errors.ts";
import { FAULT_META, type ToolResult } from "../../tool/tool.ts";

/** Failures with an error code (RemoteJuggler, "RemoteJuggler Errors"). */
export type FaultKind = "identity-not-found" | "validation-failed" | "keychain" | "config";

const WORDS: Readonly<Record<FaultKind, string>> = {
  "identity-not-found": "Identity not found",
  "validation-failed": "Validation failed",
  keychain: "Keychain error",
  config: "Config error",
};

/** A failure that a door may answer with its own error code. */
export class JugglerFault extends TrunklineError {
  readonly kind: FaultKind;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(kind: FaultKind, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(kind === "config" ? "config" : "unavailable", message);
    this.kind = kind;
    this.details = details;
  }
}

/** A result with RemoteJuggler's text; details are in structuredContent. */
export function faultResult(fault: JugglerFault): ToolResult {
  const { kind, details, message } = fault;
  const error = `Error: ${WORDS[kind]}`;
  // The message is a whole report already.
  const text =
    kind === "identity-not-found"
      ? error
      : kind === "validation-failed"
        ? message
        : `${error}: ${message}`;
  return {
    content: [{ type: "text", text }],
    structuredContent: { error: kind, message, ...details },
    isError: true,
    _meta: { [FAULT_META]: kind },
  };
}

/** Runs a token operation and reports its failure as a keychain error. */
export async function withKeychain<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof JugglerFault || !(error instanceof TrunklineError)) throw error;
    if (error.code === "usage") throw error;
    throw new JugglerFault("keychain", error.message);
  }
}
