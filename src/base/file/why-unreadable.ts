import { fileWords } from "../errors.ts";

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "no such file",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
};

/** Why a file that a person named cannot be read, without the name of the system call. */
export function whyUnreadable(error: unknown): string {
  const { code = "", path } = error as NodeJS.ErrnoException;
  return WORDS[code] ?? fileWords(error, path);
}
