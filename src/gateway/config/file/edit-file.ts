import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { userLayer } from "./files.ts";
import { parseFile } from "./parse-file.ts";
import { setInJsonc } from "./set-in-jsonc.ts";
import { checkedValues, type KeyPath } from "../layer.ts";
import { prepare, readCurrent, replace } from "../../../identity/switch/file-change.ts";
import { withLock } from "../../../store/replace-file.ts";

/** A value to set in the configuration file; undefined removes it. */
export interface ConfigFileEdit {
  readonly path: KeyPath;
  readonly value: unknown;
}

export interface EditOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The data folder, which holds the lock against concurrent changes. */
  readonly data: string;
}

/**
 * Changes values in the user's configuration file, and keeps comments, order and layout. The file is
 * written whole or not at all, and only if it is valid before and afterwards.
 */
export async function editConfigFile(
  file: string,
  edits: readonly ConfigFileEdit[],
  { env, data }: EditOptions,
): Promise<void> {
  await mkdir(data, { recursive: true, mode: 0o700 });
  await withLock(join(data, "config.lock"), async () => {
    const now = await readCurrent(file, 0o600);
    const before = now.bytes?.toString("utf8") ?? "";
    const check = async (text: string): Promise<void> => {
      await checkedValues([userLayer(file, parseFile(file, text), env)]);
    };
    await check(before);
    const after = edited(before, edits);
    await check(after);
    if (after === before) return;
    const change = {
      path: now.path,
      before: now.bytes,
      after: Buffer.from(after, "utf8"),
      mode: now.mode,
      isGitConfig: false,
    };
    const id = crypto.randomUUID();
    await prepare(change, id);
    await replace(change, id);
  });
}

function edited(text: string, edits: readonly ConfigFileEdit[]): string {
  const mark = text.startsWith("\ufeff") ? "\ufeff" : "";
  let body = text.slice(mark.length);
  for (const { path, value } of edits) body = setInJsonc(body, path, value);
  return mark + body;
}
