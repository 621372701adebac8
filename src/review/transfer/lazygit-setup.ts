import { existsSync } from "node:fs";
import { join } from "node:path";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { homeOf } from "../../base/process/environment.ts";
import { typedCommand } from "../../base/process/self-command.ts";
import { lazygitCommands, withCommands } from "./lazygit-config.ts";
import { findRepository } from "../repository.ts";

/** Bytes. No real configuration is larger. */
const MAX_SIZE = 1024 * 1024;

export interface LazygitSetup {
  /** A folder of the repository; by default the user's configuration. */
  readonly repo?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly remove: boolean;
}

export interface LazygitChange {
  readonly file: string;
  /** Undefined if there is no file. */
  readonly before: string | undefined;
  /** Undefined if there is to be none. */
  readonly after: string | undefined;
  /** Whether it has commands of ours now. */
  readonly hasOurs: boolean;
}

/** What adds our commands to lazygit, in one repository or in all, or removes them. */
export function lazygitChange({ repo, env, remove }: LazygitSetup): LazygitChange {
  const file = repo === undefined ? userConfig(env) : repositoryConfig(repo);
  const before = textOf(file);
  const text = before ?? "";
  const bare = withCommands(text, []);
  const hasOurs = bare !== text;
  const after = remove ? bare : withCommands(text, lazygitCommands(typedCommand(env)));
  if (after === text) return { file, before, after: before, hasOurs };
  return { file, before, after: remove && after.trim() === "" ? undefined : after, hasOurs };
}

/** Our commands as a configuration of their own. */
export function lazygitText(env: NodeJS.ProcessEnv): string {
  return withCommands("", lazygitCommands(typedCommand(env)));
}

function textOf(file: string): string | undefined {
  try {
    return readRegularFile(file, { most: MAX_SIZE })?.toString("utf8");
  } catch (error) {
    const says = `Cannot read '${file}': ${fileWords(error, file)}`;
    throw new TrunklineError("config", says, { cause: error });
  }
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
