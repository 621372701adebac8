import { dirname, join, resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { isFolder } from "../../base/file/path.ts";
import type { ConfigInput } from "../config.ts";
import { readText } from "../file/files.ts";
import { parseFile } from "../file/parse-file.ts";
import { isValues } from "../layer.ts";
import { loadConfig } from "../load.ts";
import { findProjectFile, PROJECT_FILE } from "../locations.ts";
import { TrustStore } from "./trust.ts";

/** Trusts the project file that holds for a folder, as it is now. Returns what it sets, too. */
export async function trustProject(input: ConfigInput) {
  // Otherwise a mistyped name would be taken for a folder of the project around it.
  if (!isFolder(input.cwd)) {
    const says = `Cannot trust: there is no folder '${resolve(input.cwd)}'.`;
    throw new TrunklineError("not-found", says);
  }
  const file = findProjectFile(input.cwd);
  const text = file === undefined ? undefined : readText(file, dirname(file));
  if (file === undefined || text === undefined) {
    const where = `in '${resolve(input.cwd)}' or above it in the same repository`;
    throw new TrunklineError("not-found", `Cannot trust: there is no ${PROJECT_FILE} ${where}`);
  }
  // A file that cannot be parsed must change, and would have to be trusted again.
  const { value } = parseFile(file, text);
  await (await storeOf(input)).trust(file, text);
  return { file, keys: isValues(value) ? Object.keys(value) : [] };
}

/** Takes the trust back, also of a file that is gone, alone or with its folder. */
export async function untrustProject(input: ConfigInput) {
  const store = await storeOf(input);
  const own = join(resolve(input.cwd), PROJECT_FILE);
  // A folder that is gone has only the name that it had.
  if (!isFolder(input.cwd)) return { file: own, wasTrusted: await store.untrust(own, own) };
  const file = findProjectFile(input.cwd) ?? own;
  return { file, wasTrusted: await store.untrust(file) };
}

async function storeOf(input: ConfigInput): Promise<TrustStore> {
  return new TrustStore((await loadConfig({ ...input, ignoreProject: true })).config.data);
}
