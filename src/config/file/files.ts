import { isUtf8 } from "node:buffer";
import { dirname } from "node:path";
import { TrunklineError } from "../../base/errors.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { type PathKind, PATHS, SERVER_KEYS } from "../config.gen.ts";
import type { ParsedFile } from "./parse-file.ts";
import {
  isValues,
  keyText,
  type ConfigLayer,
  type ConfigValues,
  withAgentName,
  type KeyPath,
} from "../layer.ts";
import { expandPath } from "../locations.ts";
import { foreignKeys, REFERRING, referencesIn, withOwnReferences } from "./foreign-keys.ts";

/** The values of the user's own file. */
export function userLayer(path: string, file: ParsedFile, env: NodeJS.ProcessEnv): ConfigLayer {
  return fileLayer("user", path, file, valuesOf(path, file), env);
}

/** The values of a file, whether it may set them or not. */
export function valuesOf(path: string, file: ParsedFile): ConfigValues {
  if (isValues(file.value)) return withAgentName(file.value);
  const where = `${path}:${file.valuePosition([])}`;
  throw new TrunklineError("config", `${where}: the configuration must be an object`);
}

/** A file as one layer of the configuration. */
export function fileLayer(
  kind: "user" | "project",
  path: string,
  file: ParsedFile,
  values: ConfigValues,
  env: NodeJS.ProcessEnv,
): ConfigLayer {
  const warnings: string[] = [];
  const known = pastedServers(values, (key, says) => {
    warnings.push(`${path}:${file.keyPosition(key)}: '${keyText(key)}' ${says}`);
  });
  return {
    kind,
    values: withPaths(known, dirname(path), env),
    warnings,
    where: (key) => `${path}:${file.valuePosition(key)}`,
    complain: (key, says) => {
      const isKey = says.startsWith("is not a known key");
      const position = isKey ? file.keyPosition(key) : file.valuePosition(key);
      return new TrunklineError("config", `${path}:${position}: '${keyText(key)}' ${says}`);
    },
  };
}

/** The same values with relative paths resolved from the file's folder. */
function withPaths(values: ConfigValues, folder: string, env: NodeJS.ProcessEnv): ConfigValues {
  return PATHS.reduce<unknown>((all, [path, kind]) => {
    return editAt(all, path, (text) => (isPath(text, kind) ? expandPath(text, folder, env) : text));
  }, values) as ConfigValues;
}

function isPath(text: string, kind: PathKind): boolean {
  if (kind === "program") return /^(?:\.\.?|~)\//.test(text);
  return kind === "file" ? text !== "" : text !== "" && !/^(?:https?:\/\/|\$\{)/i.test(text);
}

/** Changes the texts at a path; `*` stands for any name or place in a list. */
function editAt(
  value: unknown,
  [key, ...rest]: readonly string[],
  change: (text: string) => string,
): unknown {
  if (key === undefined) return typeof value === "string" ? change(value) : value;
  if (key === "*" && Array.isArray(value)) return value.map((item) => editAt(item, rest, change));
  if (!isValues(value)) return value;
  const keys = key === "*" ? Object.keys(value) : Object.hasOwn(value, key) ? [key] : [];
  const edited = keys.map((each) => [each, editAt(value[each], rest, change)]);
  return { ...value, ...Object.fromEntries(edited) };
}

/** More bytes than any configuration has: a larger file was named by mistake. */
const MAX_SIZE = 1024 * 1024;

/**
 * The text of a configuration file, or undefined if there is no such file. One of a project must be in the
 * folder `inside`.
 */
export function readText(path: string, inside?: string): string | undefined {
  let bytes: Buffer | undefined;
  try {
    bytes = readRegularFile(path, {
      most: MAX_SIZE,
      ...(inside === undefined ? {} : { inside: [inside] }),
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw unreadable(path, code === "EACCES" ? "permission denied" : message, error);
  }
  return bytes === undefined ? undefined : textOf(path, bytes);
}

/** Decodes the bytes of a configuration file. Throws if it is too large, or not UTF-8. */
export function textOf(path: string, bytes: Buffer): string {
  if (bytes.length > MAX_SIZE) throw unreadable(path, `it is over ${MAX_SIZE} bytes`);
  if (!isUtf8(bytes)) throw unreadable(path, "it is not valid UTF-8");
  return bytes.toString("utf8");
}

function unreadable(path: string, why: string, cause?: unknown): TrunklineError {
  return new TrunklineError("config", `Cannot read configuration file '${path}': ${why}`, {
    cause,
  });
}

/** What other programs call the same keys. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["cmd", "command"],
  ["environment", "env"],
  ["envs", "env"],
  ["serverUrl", "url"],
  ["httpUrl", "url"],
  ["uri", "url"],
  ["http_headers", "headers"],
  ["alwaysAllow", "autoApprove"],
  ["transport", "type"],
]);

/** What other programs call the same transports. */
const OTHER_TYPES: ReadonlyMap<unknown, string> = new Map([
  ["streamableHttp", "streamable-http"],
  ["streamable_http", "streamable-http"],
  ["remote", "http"],
]);

/** Keys whose values are texts, however they are written. */
const TEXTS: ReadonlySet<string> = new Set(["env", "headers", "args"]);

/**
 * MCP servers as people paste them from the documents of other programs: with the names of their keys,
 * and with keys that mean nothing here. Such a key is reported and left out, so that it does not stop
 * everything else.
 */
export function pastedServers(
  values: ConfigValues,
  warn: (path: KeyPath, says: string) => void,
): ConfigValues {
  const { mcpServers } = values;
  if (!isValues(mcpServers)) return values;
  const servers = Object.entries(mcpServers).map(([name, settings]) => [
    name,
    isValues(settings) ? pastedServer(settings, ["mcpServers", name], warn) : settings,
  ]);
  return { ...values, mcpServers: Object.fromEntries(servers) };
}

/** One such server. `warn` is told of the keys that are left out. */
export function pastedServer(
  settings: ConfigValues,
  path: KeyPath,
  warn: (path: KeyPath, says: string) => void,
): ConfigValues {
  const { known: foreign, understood, lost } = foreignKeys(settings);
  const known: Record<string, unknown> = {};
  let words: unknown[] = [];
  for (const [key, value] of Object.entries(settings)) {
    const own = OTHER_NAMES.get(key) ?? key;
    if (lost.includes(key)) {
      const next = "Choose its tools with 'include' and 'exclude' instead";
      warn([...path, key], `cannot be kept, so the server is left out. ${next}`);
    } else if (understood.has(key) || REFERRING.has(key)) continue;
    else if (key === "enabled" && typeof value === "boolean") known.disabled ??= !value;
    else if (!SERVER_KEYS.has(own)) warn([...path, key], "is ignored: it is not a known key");
    else if (own !== key && Object.hasOwn(settings, own)) {
      warn([...path, key], `is ignored: '${own}' is there, too`);
    } else if (own === "type") known[own] = OTHER_TYPES.get(value) ?? value;
    else if (own === "command" && Array.isArray(value)) [known[own], ...words] = value as unknown[];
    else known[own] = TEXTS.has(own) ? withTexts(value) : value;
  }
  if (words.length > 0) known.args = words;
  for (const [own, more] of Object.entries(referencesIn(settings))) {
    known[own] = withTexts({ ...(known[own] as object | undefined), ...more });
  }
  return { ...known, ...foreign, ...(lost.length > 0 && { disabled: true }) };
}

/** A list or a table in which numbers and booleans are texts: `"PORT": 8080` means `"8080"`. */
function withTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asText);
  if (!isValues(value)) return value;
  const entries = Object.entries(value).map(([key, each]) => [key, asText(each)] as const);
  return Object.fromEntries(
    entries.map(([key, each]) => [key, typeof each === "string" ? withOwnReferences(each) : each]),
  );
}

function asText(value: unknown): unknown {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
}
