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
