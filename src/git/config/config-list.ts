/** From the weakest to the strongest. */
export const CONFIG_SCOPES = ["system", "global", "local", "worktree", "command"] as const;
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
  if (value === undefined) return true;
  if (/^(?:true|yes|on)$/i.test(value)) return true;
  if (/^(?:false|no|off)?$/i.test(value)) return false;
  return /^[+-]?\d+$/.test(value) ? Number(value) !== 0 : undefined;
}
