import { diskWords, fileWords, TrunklineError } from "../base/errors.ts";
import { UnfitFileError } from "../base/file/read-regular-file.ts";
import { SessionError } from "./session-error.ts";

/** ACP fs/read_text_file: some lines of a text, counted from 1. */
export function linesOf(text: string, { line, limit }: { line?: number; limit?: number }): string {
  if (line === undefined && limit === undefined) return text;
  const from = Math.max(0, (line ?? 1) - 1);
  const lines = text.split(/(?<=\n)/);
  return lines.slice(from, limit === undefined ? undefined : from + limit).join("");
}

export function noFile(path: string, options?: ErrorOptions): SessionError {
  return new SessionError("file-not-found", `There is no file '${path}'`, { path }, options);
}

const LINK = "it leads through a link. Links are not followed: use the path that it leads to";
const MISSING: ReadonlySet<unknown> = new Set(["ENOENT", "EISDIR", "ENOTDIR"]);
const DENIED: ReadonlySet<unknown> = new Set(["EACCES", "EPERM", "EROFS", "ELOOP", "ENXIO"]);

/** An error of the file system in the words of ACP message specification § ACP-Specific Errors. */
export function fileProblem(error: unknown, path: string): unknown {
  if (error instanceof SessionError) return error;
  const { code } = error as NodeJS.ErrnoException;
  const options = { cause: error };
  const says = (why: string): string => `Cannot use '${path}': ${why}`;
  if (error instanceof UnfitFileError) {
    const problem = error.size === undefined ? "permission-denied" : "file-too-large";
    return new SessionError(problem, says(error.message), { path }, options);
  }
  if (MISSING.has(code)) return noFile(path, options);
  if (DENIED.has(code)) {
    const why = code === "ELOOP" ? LINK : fileWords(error, path);
    return new SessionError("permission-denied", says(why), { path }, options);
  }
  if (diskWords(error) === undefined) return error;
  return new TrunklineError("unavailable", says(fileWords(error, path)), options);
}
