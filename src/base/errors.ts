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
  override readonly name = "TrunklineError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The error that came first. If disposing throws too, `using` throws a `SuppressedError`, whose message is
 * that of neither.
 */
export function originalError(error: unknown): unknown {
  let original = error;
  while (original instanceof SuppressedError) original = original.suppressed;
  return original;
}

/** System errors whose cause is the disk or its permissions, not a bug of ours. */
const DISK_ERRORS = /^E(?:NOSPC|DQUOT|FBIG|IO|ROFS|ACCES|PERM|[MN]FILE|NAMETOOLONG|NOTDIR|LOOP)$/;

/**
 * The message of a disk error, in words that a person can act on; undefined for any other error.
 * Callers show it to whoever asked. Other errors they hide, since those are bugs of ours.
 */
export function diskWords(error: unknown): string | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? "";
  return DISK_ERRORS.test(code) ? fileWords(error) : undefined;
}

/**
 * The reason of a file system error, without the error code and the system call. The path is left out if it
 * is `named`, or a temporary file beside it, because the message names that one already.
 */
export function fileWords(error: unknown, named?: string): string {
  const { path, message } = error as NodeJS.ErrnoException;
  const words = /^E\w+: (.+?), [a-z]/.exec(message)?.[1] ?? message;
  const at = !path || `${path}.`.startsWith(`${named}.`) ? "" : `: '${path}'`;
  return words + at + (isDiskFull(error) ? ". Free some space on its disk, and try again." : "");
}

/** Whether an error, or what caused it, is that a disk has no space left. */
export function isDiskFull(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { code, errcode = 0 } = at as NodeJS.ErrnoException & { readonly errcode?: number };
    // SQLITE_FULL
    if (code === "ENOSPC" || code === "EDQUOT" || (errcode & 0xff) === 13) return true;
  }
  return false;
}
