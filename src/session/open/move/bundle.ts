import { createHash } from "node:crypto";
import { open, rm } from "node:fs/promises";

import { describeProblem, parsedJson } from "../../../base/check.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { readRegularFile } from "../../../base/file/read-regular-file.ts";
import { checkMovedSession, type MovedSession } from "../../../store/schema.gen.ts";

/** Bytes. A bundle is in memory while it is written and read. */
export const LARGEST_BUNDLE = 512 * 1024 * 1024;

/** Bytes of the first line, and of a file that is read as text. */
const LARGEST_HEAD = 16 * 1024 * 1024;
const LARGEST_TEXT = 256 * 1024 * 1024;

/** By the names that they have in a bundle, which never become paths. */
export type BundledFiles = ReadonlyMap<string, Buffer>;

/** A session with everything that belongs to it. */
export interface Bundle {
  readonly head: MovedSession;
  readonly files: BundledFiles;
  /** SHA-256 of the whole. */
  readonly digest: string;
}

/**
 * Writes a bundle: one line of JSON, which has the SHA-256 of each file, and then the files one after
 * another. Returns the SHA-256 of the whole.
 */
export async function writeBundle(
  path: string,
  head: Omit<MovedSession, "format" | "files">,
  contents: BundledFiles,
): Promise<string> {
  const files = [...contents].map(([name, content]) => {
    return { name, size: content.length, sha256: sha256([content]) };
  });
  const whole = { format: "trunkline-session-1", ...head, files };
  const parts = [Buffer.from(`${JSON.stringify(whole)}\n`), ...contents.values()];
  await rm(path, { force: true });
  await using file = await open(path, "wx", 0o600);
  for (const part of parts) await file.writeFile(part);
  await file.sync();
  return sha256(parts);
}

function sha256(parts: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

/** Reads a bundle of somebody who may be hostile. Throws "untrusted" for what `writeBundle` does not write. */
export function readBundle(path: string): Bundle {
  const all = readRegularFile(path, { most: LARGEST_BUNDLE }) ?? Buffer.alloc(0);
  const end = all.indexOf("\n");
  if (end > LARGEST_HEAD) throw refusal(`its first line has over ${LARGEST_HEAD} bytes`);
  const head = parsedJson(all.toString("utf8", 0, Math.max(end, 0)));
  const wrong = checkMovedSession(head);
  if (wrong !== undefined) throw refusal(`in its first line ${describeProblem("session", wrong)}`);
  const files = new Map<string, Buffer>();
  let at = end + 1;
  for (const { name, size, sha256: digest } of (head as MovedSession).files) {
    const content = all.subarray(at, (at += size));
    if (size > LARGEST_TEXT && name !== "work.pack") {
      throw refusal(`its file '${name}' has over ${LARGEST_TEXT} bytes`);
    }
    if (files.has(name)) throw refusal(`it has the file '${name}' twice`);
    if (sha256([content]) !== digest) throw refusal(`its file '${name}' has another digest`);
    files.set(name, content);
  }
  if (at !== all.length) throw refusal("its length is not what it says");
  return { head: head as MovedSession, files, digest: sha256([all]) };
}

/** Why a session is not taken. */
export function refusal(why: string, cause?: unknown): TrunklineError {
  return new TrunklineError("untrusted", `Cannot take this session: ${why}.`, { cause });
}
