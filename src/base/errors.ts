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

/**
 * The bundle holds some classes twice, so that what an editor starts again and again is one file.
 * A brand makes `instanceof` mean the same for both copies.
 */
export function hasBrand(value: unknown, brand: symbol): boolean {
  return typeof value === "object" && value !== null && brand in value;
}

/**
 * What went wrong first. Where letting go of something fails because of it, too, `using` throws an
 * error that only has both of them; the first is what its words are about.
 */
export function originalError(error: unknown): unknown {
  let original = error;
  while (original instanceof SuppressedError) original = original.suppressed;
  return original;
}

/** What a disk, or who may use it, has to do with; a fault of the program it is not. */
const FAILURES: ReadonlySet<unknown> = new Set([
  "ENOSPC",
  "EDQUOT",
  "EFBIG",
  "EIO",
  "EROFS",
  "EACCES",
  "EPERM",
  "EMFILE",
  "ENFILE",
]);

/**
 * What the system says of a file that could not be read or written, in words that a person can act
 * on; undefined for any other error. A disk that fails is told to whoever it fails, as a fault of the
 * program is not: that would tell them nothing.
 */
export function diskWords(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, message } = error as NodeJS.ErrnoException;
  if (!FAILURES.has(code)) return undefined;
  const isFull = code === "ENOSPC" || code === "EDQUOT";
  return isFull ? `${message}. Free some space on its disk, and try again.` : message;
}
