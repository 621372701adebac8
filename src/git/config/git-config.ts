import type { Git } from "../git.ts";

/** From the weakest to the strongest. */
const CONFIG_SCOPES = ["system", "global", "local", "worktree", "command"] as const;
export type ConfigScope = (typeof CONFIG_SCOPES)[number];

/** A key in git's canonical form, and its value; undefined means true (git-config(1), "Values"). */
export interface ConfigValue {
  readonly key: string;
  readonly value: string | undefined;
}

/** A value, and who set it. */
export interface ConfigEntry extends ConfigValue {
  readonly scope: ConfigScope;
  /** `file:PATH`, relative to the folder that git ran in; or `command line:` and others. */
  readonly origin: string;
}

/** What `git config -z --list` writes. */
export function parseConfigList(text: string): ConfigValue[] {
  return text.split("\0").slice(0, -1).map(valueOf);
}

/** What `git config -z --show-scope --show-origin --list` writes. */
export function parseScopedList(text: string): ConfigEntry[] {
  const parts = text.split("\0");
  const entries: ConfigEntry[] = [];
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const [scope = "", origin = "", entry = ""] = parts.slice(at, at + 3);
    entries.push({ scope: scope as ConfigScope, origin, ...valueOf(entry) });
  }
  return entries;
}

function valueOf(entry: string): ConfigValue {
  const end = entry.indexOf("\n");
  if (end < 0) return { key: entry, value: undefined };
  return { key: entry.slice(0, end), value: entry.slice(end + 1) };
}

/**
 * A key in git's canonical form: lower case, except for the subsection between the first and the
 * last dot.
 */
export function canonicalKey(key: string): string {
  const [first, last] = [key.indexOf("."), key.lastIndexOf(".")];
  if (first < 0) return key.toLowerCase();
  return key.slice(0, first).toLowerCase() + key.slice(first, last) + key.slice(last).toLowerCase();
}

/** A value as git reads a boolean (git-config(1), "Values"); undefined if it is not one. */
export function configBoolean(value: string | undefined): boolean | undefined {
  if (value === undefined || /^(?:true|yes|on)$/i.test(value)) return true;
  if (/^(?:false|no|off)?$/i.test(value)) return false;
  return /^[+-]?\d+$/.test(value) ? Number(value) !== 0 : undefined;
}

/** The file that a value is written to: one of git's scopes, or a path. */
type ConfigFile = Exclude<ConfigScope, "command"> | { readonly path: string };

/**
 * The whole configuration of git in a folder when it was read. Later entries override earlier ones.
 */
export class GitConfig {
  readonly entries: readonly ConfigEntry[];
  readonly #byKey: ReadonlyMap<string, readonly ConfigEntry[]>;

  constructor(entries: readonly ConfigEntry[]) {
    this.entries = entries;
    this.#byKey = Map.groupBy(entries, ({ key }) => key);
  }

  /** Works outside of repositories too. */
  static async read(git: Git): Promise<GitConfig> {
    const { stdout } = await git.run(["config", "-z", "--show-scope", "--show-origin", "--list"]);
    return new GitConfig(parseScopedList(stdout.toString("utf8")));
  }

  /** The effective value; a key without a value is "true". */
  get(key: string): string | undefined {
    const last = this.last(key);
    return last === undefined ? undefined : (last.value ?? "true");
  }

  last(key: string): ConfigEntry | undefined {
    return this.all(key).at(-1);
  }

  all(key: string): readonly ConfigEntry[] {
    return this.#byKey.get(canonicalKey(key)) ?? [];
  }

  values(key: string): string[] {
    return this.all(key).map(({ value }) => value ?? "true");
  }

  isTrue(key: string): boolean {
    const last = this.last(key);
    return last !== undefined && configBoolean(last.value) === true;
  }

  /** The middle part of the keys `SECTION.….NAME`, each once, in the order they came. */
  subsections(section: string, name: string): string[] {
    const [begin, end] = [`${section}.`, `.${name}`];
    const keys = this.#byKey.keys().filter((key) => {
      return key.startsWith(begin) && key.endsWith(end) && key.length > begin.length + end.length;
    });
    return [...keys].map((key) => key.slice(begin.length, -end.length));
  }
}

export function isStronger(scope: ConfigScope, than: ConfigScope): boolean {
  return CONFIG_SCOPES.indexOf(scope) > CONFIG_SCOPES.indexOf(than);
}

/** Sets a key to exactly these values, in one file. */
export async function setConfig(
  git: Git,
  file: ConfigFile,
  key: string,
  values: readonly string[],
): Promise<void> {
  const where = fileArguments(file);
  const [first, ...more] = values;
  if (first === undefined) return await unsetConfig(git, file, key);
  await git.run(["config", ...where, "--replace-all", key, first], { mode: "write" });
  for (const value of more) {
    await git.run(["config", ...where, "--add", key, value], { mode: "write" });
  }
}

/** Removes all values of a key in one file; no error if there are none. */
export async function unsetConfig(git: Git, file: ConfigFile, key: string): Promise<void> {
  const args = ["config", ...fileArguments(file), "--unset-all", key];
  await git.run(args, { accepts: [0, 5], mode: "write" });
}

function fileArguments(file: ConfigFile): string[] {
  return typeof file === "string" ? [`--${file}`] : ["--file", file.path];
}
