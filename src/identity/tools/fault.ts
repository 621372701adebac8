import { hasBrand, TrunklineError } from "../../base/errors.ts";
import { FAULT_META, type ToolResult } from "../../tool/tool.ts";

/** What RemoteJuggler has error codes of its own for. */
export type FaultKind = "identity-not-found" | "validation-failed" | "keychain" | "config";

const WORDS: Readonly<Record<FaultKind, string>> = {
  "identity-not-found": "Identity not found",
  "validation-failed": "Validation failed",
  keychain: "Keychain error",
  config: "Config error",
};

/** A failure that a door may answer with a code of its own. */
export class JugglerFault extends TrunklineError {
  static readonly #brand = Symbol.for("trunkline.JugglerFault");
  readonly kind: FaultKind;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(kind: FaultKind, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(kind === "config" ? "config" : "unavailable", message);
    Object.defineProperty(this, JugglerFault.#brand, {});
    this.kind = kind;
    this.details = details;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasBrand(value, JugglerFault.#brand);
  }
}

/** The text is as RemoteJuggler's; what it leaves unsaid is beside it. */
export function faultResult(fault: JugglerFault): ToolResult {
  const { kind, details, message } = fault;
  const error = `Error: ${WORDS[kind]}`;
  // A report of what failed says so itself.
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

/** Does something with tokens; what fails there is the keychain's fault. */
export async function withKeychain<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof JugglerFault || !(error instanceof TrunklineError)) throw error;
    if (error.code === "usage") throw error;
    throw new JugglerFault("keychain", error.message);
  }
}
