import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";

import { homeOf, isSet } from "../base/process/environment.ts";
import type { ConfigInput } from "./config.ts";

export const PROJECT_FILE = ".trunkline.jsonc";

/** `namedBy` is the option or variable that names the file, which must exist then. */
export function userFile({ cwd, env, flags }: ConfigInput) {
  if (flags.config !== undefined) {
    return { path: expandPath(flags.config, cwd, env), namedBy: "--config" };
  }
  if (isSet(env.TRUNKLINE_CONFIG)) {
    return { path: expandPath(env.TRUNKLINE_CONFIG, cwd, env), namedBy: "TRUNKLINE_CONFIG" };
  }
  const folder = xdgFolder(env.XDG_CONFIG_HOME) ?? join(homeOf(env), ".config");
  return { path: join(folder, "trunkline", "config.jsonc") };
}

/** The file with the key of secrets, beside the user's configuration: the data folder alone tells no secret. */
export function userKeyFile(env: NodeJS.ProcessEnv): string {
  return join(dirname(userFile({ cwd: process.cwd(), env, flags: {} }).path), "token.key");
}

/**
 * Trunkline's own files and folders, which agents must not use: what the configuration names runs outside of
 * their sandbox, and so does the compiled code in the cache. The first of `files` is the user's
 * configuration, which may be anywhere.
 */
export function ownPaths(
  data: string,
  files: readonly string[] | undefined,
  env: NodeJS.ProcessEnv,
): string[] {
  const key = userKeyFile(env);
  const [file = key] = files ?? [];
  const cache = join(xdgFolder(env.XDG_CACHE_HOME) ?? join(homeOf(env), ".cache"), "trunkline");
  return [data, cache, dirname(key), key, file, join(dirname(file), basename(key))];
}

/** Where a person keeps commands and skills for agents: for Trunkline, and for others. */
export function userFolders(env: NodeJS.ProcessEnv): string[] {
  const { HOME: home } = env;
  if (!isSet(home) || !isAbsolute(home)) return [];
  const config = xdgFolder(env.XDG_CONFIG_HOME) ?? join(home, ".config");
  return [join(config, "trunkline"), join(home, ".agents"), join(home, ".claude")];
}

export function defaultData(env: NodeJS.ProcessEnv): string {
  return join(xdgFolder(env.XDG_STATE_HOME) ?? join(homeOf(env), ".local", "state"), "trunkline");
}

/**
 * The nearest project file, from a folder up to the root of its git work tree. Outside a repository
 * only the folder itself counts: its parents may belong to anybody.
 */
export function findProjectFile(cwd: string): string | undefined {
  let nearest: string | undefined;
  const own = inside(resolve(cwd), PROJECT_FILE);
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const file = inside(folder, PROJECT_FILE);
    if (nearest === undefined && existsSync(file)) nearest = file;
    if (existsSync(inside(folder, ".git"))) return nearest;
    if (folder === dirname(folder)) break;
  }
  return nearest === own ? own : undefined;
}

/** The project file that holds for a folder, or the place for one: the root of its git work tree. */
export function projectFilePlace(cwd: string): string {
  const found = findProjectFile(cwd);
  if (found !== undefined) return found;
  for (let folder = resolve(cwd); folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(inside(folder, ".git"))) return inside(folder, PROJECT_FILE);
  }
  return inside(resolve(cwd), PROJECT_FILE);
}

/** Faster than join(): a start looks in every folder up to the root. */
function inside(folder: string, name: string): string {
  return folder.endsWith(sep) ? folder + name : folder + sep + name;
}

/** A path as people write it, made absolute: `~/` is the home folder, others count from `base`. */
export function expandPath(text: string, base: string, env: NodeJS.ProcessEnv): string {
  if (text === "~" || text.startsWith("~/")) return join(homeOf(env), text.slice(1));
  return resolve(base, text);
}

/** XDG Base Directory Specification, "Basics": relative paths are invalid and must be ignored. */
function xdgFolder(value: string | undefined): string | undefined {
  return isSet(value) && isAbsolute(value) ? value : undefined;
}
