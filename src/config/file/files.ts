import { isUtf8 } from "node:buffer";
import { dirname } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import type { ParsedFile } from "./parse-file.ts";
import { pastedServers } from "./pasted-servers.ts";
import { isValues, keyText, type Layer, type Values, withAgentName } from "../layer.ts";
import { expandPath } from "../locations.ts";

/** The values of the user's own file. */
export function userLayer(path: string, file: ParsedFile, env: NodeJS.ProcessEnv): Layer {
  return fileLayer("user", path, file, valuesOf(path, file), env);
}

/** The values of a file, whether it may set them or not. */
export function valuesOf(path: string, file: ParsedFile): Values {
  if (isValues(file.value)) return withAgentName(file.value);
  const where = `${path}:${file.valuePosition([])}`;
  throw new TrunklineError("config", `${where}: the configuration must be an object`);
}

/** A file as one layer of the configuration. */
export function fileLayer(
  kind: "user" | "project",
  path: string,
  file: ParsedFile,
  values: Values,
  env: NodeJS.ProcessEnv,
): Layer {
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
function withPaths(values: Values, folder: string, env: NodeJS.ProcessEnv): Values {
  const expand = (value: unknown): unknown => {
    return typeof value === "string" && value !== "" ? expandPath(value, folder, env) : value;
  };
  const expandCommand = (value: unknown): unknown => {
    return typeof value === "string" && /^(?:\.\.?|~)\//.test(value) ? expand(value) : value;
  };
  // Counted from the folder that a program was started in, it would be the document of any repository.
  const expandDocument = (value: unknown): unknown => {
    return typeof value === "string" && /^(?:https?:\/\/|\$\{)/i.test(value)
      ? value
      : expand(value);
  };
  const program = (value: unknown): unknown => {
    const started = edit(edit(value, "command", expandCommand), "cwd", expand);
    return edit(started, "openapi", expandDocument);
  };
  const programs = (value: unknown): unknown => {
    if (!isValues(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, program(item)]));
  };
  const rules = (value: unknown): unknown => {
    return Array.isArray(value) ? value.map((rule) => edit(rule, "project", expand)) : value;
  };
  const policy = (value: unknown): unknown => {
    return edit(value, "tools", (tools) => edit(tools, "rules", rules));
  };
  const list = (value: unknown): unknown => (Array.isArray(value) ? value.map(expand) : value);
  const profile = (value: unknown): unknown => {
    const chosen = edit(value, "for", (wanted) => edit(wanted, "projects", list));
    return edit(chosen, "policy", (own) => edit(own, "rules", rules));
  };
  const profiles = (value: unknown): unknown => {
    if (!isValues(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, profile(item)]));
  };
  const serve = (value: unknown): unknown => {
    return edit(value, "tls", (tls) => edit(edit(tls, "certFile", expand), "keyFile", expand));
  };
  const fleet = (value: unknown): unknown => {
    const files = (tls: unknown): unknown =>
      ["caFile", "certFile", "keyFile"].reduce((edited, key) => edit(edited, key, expand), tls);
    return edit(edit(value, "credentials", expand), "tls", files);
  };
  const agent = (value: unknown): unknown => {
    const files = (each: unknown): unknown =>
      ["write", "hide", "show"].reduce((edited, key) => edit(edited, key, list), each);
    return edit(value, "files", files);
  };
  const bus = (value: unknown): unknown => {
    const folders = edit(edit(value, "certsDir", expand), "workspace", expand);
    return edit(folders, "plugins", programs);
  };
  let edited = edit(values, "data", expand);
  edited = edit(edited, "audit", (audit) => edit(audit, "anchor", expand));
  edited = edit(edited, "bus", bus);
  edited = edit(edited, "serve", serve);
  edited = edit(edited, "fleet", fleet);
  edited = edit(edited, "mcpServers", programs);
  edited = edit(edited, "agents", programs);
  edited = edit(edited, "agent", agent);
  edited = edit(edited, "profiles", profiles);
  return edit(edited, "policy", policy) as Values;
}

function edit(value: unknown, key: string, change: (value: unknown) => unknown): unknown {
  if (!isValues(value) || !Object.hasOwn(value, key)) return value;
  return { ...value, [key]: change(value[key]) };
}

/** Larger than any configuration: such a file was named by mistake. */
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

/** The text of the bytes of a configuration file. Throws if it would not be read. */
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
