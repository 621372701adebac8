import { dirname } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { type ProjectAccess, projectAccess } from "./keys.ts";
import { isValues, type KeyPath, keyText, type Layer, type Values } from "./layer.ts";
import { expandPath } from "./locations.ts";
import { parseFile, type ParsedFile } from "./parse-file.ts";
import { TrustStore } from "./trust.ts";

/** What the user's own file sets. */
export function userLayer(path: string, text: string, env: NodeJS.ProcessEnv): Layer {
  const file = parseFile(path, text);
  return fileLayer("user", path, file, valuesOf(path, file), env);
}

export interface ProjectLayer {
  readonly layer: Layer;
  readonly isTrusted: boolean;
  /** One for each key that was ignored. */
  readonly warnings: readonly string[];
}

/** What a project's file sets, as far as it may. */
export function projectLayer(
  path: string,
  text: string,
  data: string,
  env: NodeJS.ProcessEnv,
): ProjectLayer {
  const file = parseFile(path, text);
  const isTrusted = new TrustStore(data).isTrusted(path, text);
  const refused: (readonly [KeyPath, ProjectAccess])[] = [];
  const values = permitted(valuesOf(path, file), [], isTrusted, refused);
  const warnings = refused.map(([key, access]) => {
    const why =
      access === "never"
        ? "a project file cannot set it"
        : "this project file is not trusted. Read it, then run `trunkline config trust`";
    return `${path}:${file.keyPosition(key)}: '${keyText(key)}' is ignored: ${why}`;
  });
  return { layer: fileLayer("project", path, file, values, env), isTrusted, warnings };
}

/** The values that a project's file may set; the others go to `refused`. */
function permitted(
  values: Values,
  path: KeyPath,
  isTrusted: boolean,
  refused: (readonly [KeyPath, ProjectAccess])[],
): Values {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) {
    const here = [...path, key];
    const access = projectAccess(here);
    if (access === "inside" && isValues(value)) {
      kept[key] = permitted(value, here, isTrusted, refused);
    } else if (access === "never" || (access === "trusted" && !isTrusted)) {
      refused.push([here, access]);
    } else kept[key] = value;
  }
  return kept;
}

function valuesOf(path: string, file: ParsedFile): Values {
  if (isValues(file.value)) return file.value;
  const where = `${path}:${file.valuePosition([])}`;
  throw new TrunklineError("config", `${where}: the configuration must be an object`);
}

function fileLayer(
  kind: "user" | "project",
  path: string,
  file: ParsedFile,
  values: Values,
  env: NodeJS.ProcessEnv,
): Layer {
  return {
    kind,
    values: withPaths(values, dirname(path), env),
    where: (key) => `${path}:${file.valuePosition(key)}`,
    complain: (key, says) => {
      const isKey = says.startsWith("is not a known key");
      const position = isKey ? file.keyPosition(key) : file.valuePosition(key);
      return new TrunklineError("config", `${path}:${position}: '${keyText(key)}' ${says}`);
    },
  };
}

/** The same values with their paths made absolute, as seen from the file's folder. */
function withPaths(values: Values, folder: string, env: NodeJS.ProcessEnv): Values {
  const expand = (value: unknown): unknown => {
    return typeof value === "string" && value !== "" ? expandPath(value, folder, env) : value;
  };
  const expandCommand = (value: unknown): unknown => {
    return typeof value === "string" && /^(?:\.\.?|~)\//.test(value) ? expand(value) : value;
  };
  const program = (value: unknown): unknown => {
    return edit(edit(value, "command", expandCommand), "cwd", expand);
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
  const serve = (value: unknown): unknown => {
    return edit(value, "tls", (tls) => edit(edit(tls, "certFile", expand), "keyFile", expand));
  };
  const bus = (value: unknown): unknown => {
    const folders = edit(edit(value, "certsDir", expand), "workspace", expand);
    return edit(folders, "plugins", programs);
  };
  let edited = edit(values, "data", expand);
  edited = edit(edited, "bus", bus);
  edited = edit(edited, "serve", serve);
  edited = edit(edited, "mcpServers", programs);
  edited = edit(edited, "agents", programs);
  return edit(edited, "policy", policy) as Values;
}

function edit(value: unknown, key: string, change: (value: unknown) => unknown): unknown {
  if (!isValues(value) || !Object.hasOwn(value, key)) return value;
  return { ...value, [key]: change(value[key]) };
}
