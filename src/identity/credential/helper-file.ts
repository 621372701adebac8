import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";

import { editConfig } from "../../git/config/edit-config.ts";
import { replaceFile } from "../../store/replace-file.ts";
import { helperSettings } from "../git-settings.ts";

/** Makes git ask us for tokens wherever the file is included. It contains no secret. */
export async function writeHelperFile(path: string, helper: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, editConfig(Buffer.alloc(0), helperSettings(helper)).toString("utf8"));
}

export async function removeHelperFile(path: string): Promise<void> {
  await rm(path, { force: true });
}
