import { hasBrand } from "./brand.ts";

/** Every way Trunkline itself can fail, by a stable name. A name is one cause, wherever it arises. */
export type ErrorCode =
  | "usage"
  | "config"
  | "untrusted"
  | "not-found"
  | "unavailable"
  | "timeout"
  | "cancelled"
  | "limit"
  | "closed"
  | "conflict";

/**
 * A failure of Trunkline's own, told in words a person can act on: what could not be done, the
 * value, what to do next. It stays inside the process; `toRpcError` is the only way out.
 */
export class TrunklineError extends Error {
  static readonly #brand = Symbol.for("trunkline.TrunklineError");
  override readonly name = "TrunklineError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    Object.defineProperty(this, TrunklineError.#brand, {});
    this.code = code;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasBrand(value, TrunklineError.#brand);
  }
}
