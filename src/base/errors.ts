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
  | "closed";

/**
 * A failure of Trunkline's own, told in words a person can act on: what could not be done, the
 * value, what to do next. It stays inside the process; `toRpcError` is the only way out.
 */
export class TrunklineError extends Error {
  override readonly name = "TrunklineError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
