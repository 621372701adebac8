import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { homeOf } from "../../base/process/environment.ts";
import { makeFolder } from "../../base/file/path.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { lazygitCommands, withCommands } from "./lazygit-config.ts";
import { findRepository } from "../repository.ts";
import { replaceFile } from "../../store/replace-file.ts";

/** Bytes. No real configuration is larger. */
const MAX_SIZE = 1024 * 1024;

export interface LazygitSetup {
  /** A folder of the repository; by default the user's configuration. */
  readonly repo?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly remove: boolean;
}

export interface LazygitSetUp {
  readonly file: string;
  readonly change: "written" | "removed" | "unchanged";
}

/** Adds our commands to lazygit, in one repository or in all. Idempotent. */
export async function setUpLazygit({ repo, env, remove }: LazygitSetup): Promise<LazygitSetUp> {
  const file = repo === undefined ? userConfig(env) : repositoryConfig(repo);
  const before = textOf(file);
  const commands = remove ? [] : lazygitCommands(programIn(env));
  const after = withCommands(before ?? "", commands);
  if (after === (before ?? "")) return { file, change: "unchanged" };
  try {
    if (remove && after.trim() === "") rmSync(file);
    else await write(file, after, before === undefined);
  } catch (error) {
    const says = `Cannot change '${file}': ${(error as Error).message}`;
    throw new TrunklineError("config", says, { cause: error });
  }
  return { file, change: remove ? "removed" : "written" };
}

function textOf(file: string): string | undefined {
  try {
    return readRegularFile(file, { most: MAX_SIZE })?.toString("utf8");
  } catch (error) {
    const says = `Cannot read '${file}': ${(error as Error).message}`;
    throw new TrunklineError("config", says, { cause: error });
  }
}

async function write(file: string, text: string, isNew: boolean): Promise<void> {
  if (isNew) makeFolder(dirname(file));
  // The file is often a symbolic link; write to its target.
  const target = isNew ? file : realpathSync(file);
  const mode = isNew ? 0o644 : statSync(target).mode;
  await replaceFile(target, text);
  chmodSync(target, mode);
}

function repositoryConfig(folder: string): string {
  const found = findRepository(folder);
  if (found !== undefined) return join(found.gitDir, "lazygit.yml");
  const why = "it is in no git repository. Go into one, name one with --repo, or give --user";
  throw new TrunklineError(
    "not-found",
    `Cannot set up lazygit in '${folder}': ${why} to have it in all.`,
  );
}

/** Where lazygit looks for its configuration, in that order. */
function userConfig(env: NodeJS.ProcessEnv): string {
  const { LG_CONFIG_FILE, CONFIG_DIR } = env;
  const [named] = LG_CONFIG_FILE?.split(",") ?? [];
  if (named !== undefined && named !== "") return named;
  if (CONFIG_DIR !== undefined && CONFIG_DIR !== "") return join(CONFIG_DIR, "config.yml");
  const config = env.XDG_CONFIG_HOME || join(homeOf(env), ".config");
  const legacy = join(config, "jesseduffield/lazygit/config.yml");
  return existsSync(legacy) ? legacy : join(config, "lazygit/config.yml");
}

/** The shell command that starts us: by name if it is in PATH, else by path. */
function programIn(env: NodeJS.ProcessEnv): string {
  const folders = env.PATH?.split(delimiter) ?? [];
  if (folders.some((folder) => isProgram(join(folder, "trunkline")))) return "trunkline";
  return [process.execPath, process.argv[1] ?? "trunkline"].map(quoted).join(" ");
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
