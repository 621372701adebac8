import { TrunklineError } from "../../base/errors.ts";

/** Bytes, as in Orchestra. */
const LONGEST = 4_096;
/** Bytes of one part: file systems allow 255, of which a suffix takes some. */
const LONGEST_PART = 240;

/**
 * The one spelling of a path: relative, parts separated by `/`, none of them `.` or empty. Throws if
 * it could lead out of where it belongs, or could not be the name of a file everywhere.
 */
export function storagePath(path: string): string {
  const problem = problemOf(path);
  if (problem !== undefined) {
    const shown = JSON.stringify(path.slice(0, 100));
    throw new TrunklineError("usage", `Cannot use the path ${shown}: ${problem}`);
  }
  return partsOf(path).join("/");
}

/** Of a folder, which may be the one that everything is in: that is the empty text. */
export function storageFolder(path: string): string {
  return path === "" || path === "." ? "" : storagePath(path);
}

function problemOf(path: string): string | undefined {
  if (path === "") return "it is empty";
  if (Buffer.byteLength(path) > LONGEST) return `it is longer than ${LONGEST} bytes`;
  if (!path.isWellFormed()) return "it is not valid Unicode";
  if (/\p{Cc}/u.test(path)) return "it has control characters";
  if (path.includes("\\")) return "it has a backslash; separate its parts with '/'";
  if (path.startsWith("/")) return "it must be relative";
  const parts = partsOf(path);
  if (parts.length === 0) return "it names no document";
  if (parts.includes("..")) return "'..' could lead out of the storage";
  const isTooLong = parts.some((part) => Buffer.byteLength(part) > LONGEST_PART);
  return isTooLong ? `a part of it is longer than ${LONGEST_PART} bytes` : undefined;
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}
