import {
  canonicalKey,
  configBoolean,
  type ConfigEntry,
  CONFIG_SCOPES,
  type ConfigScope,
  parseScopedList,
} from "./config-list.ts";
import type { Git } from "../git.ts";

/** The file that a value is written to: one of git's scopes, or a path. */
export type ConfigFile = Exclude<ConfigScope, "command"> | { readonly path: string };

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
    const args = ["config", "-z", "--show-scope", "--show-origin", "--list"];
    const { stdout } = await git.run(args);
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
