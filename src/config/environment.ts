import { TrunklineError } from "../base/errors.ts";
import { keyText, type KeyPath, type Layer, mergeValues, type Values } from "./layer.ts";
import { expandPath, isSet } from "./locations.ts";
import type { Setting } from "./schema/keys.ts";
import { nest, readScalar } from "./set-path.ts";

/** Variables that need no schema to be understood. */
const SPECIAL: ReadonlySet<string> = new Set([
  "TRUNKLINE_CONFIG",
  "TRUNKLINE_DATA",
  "TRUNKLINE_VERBOSE",
]);

/** What variables set, and by which of them. */
interface Variables {
  readonly values: Values;
  /** The name of a variable by the key that it sets. */
  readonly names: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
}

export interface EnvironmentLayer {
  readonly layer: Layer;
  readonly warnings: readonly string[];
}

export async function environmentLayer(
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<EnvironmentLayer> {
  const special = specialVariables(cwd, env);
  const others = Object.keys(env).filter((name) => isOther(name) && isSet(env[name]));
  if (others.length === 0) return { layer: layerOf(special, env, true), warnings: [] };
  const variables = await readVariables(others, env, special);
  return { layer: layerOf(variables, env, false), warnings: variables.warnings };
}

function specialVariables(cwd: string, env: NodeJS.ProcessEnv): Variables {
  const values: Record<string, unknown> = {};
  const names = new Map<string, string>();
  if (isSet(env.TRUNKLINE_DATA)) {
    values.data = expandPath(env.TRUNKLINE_DATA, cwd, env);
    names.set("data", "TRUNKLINE_DATA");
  }
  const verbose = ["TRUNKLINE_VERBOSE", "REMOTE_JUGGLER_VERBOSE"].find((name) => isOn(env[name]));
  if (verbose !== undefined) {
    values.log = { verbose: true };
    names.set("log.verbose", verbose);
  }
  return { values, names, warnings: [] };
}

function layerOf({ values, names }: Variables, env: NodeJS.ProcessEnv, isRight: boolean): Layer {
  const where = (path: KeyPath): string => names.get(keyText(path)) ?? "the environment";
  return {
    kind: "environment",
    values,
    isRight,
    where,
    complain: (path, says) => {
      const name = where(path);
      return new TrunklineError("config", `${name} is '${env[name] ?? ""}', but ${says}`);
    },
  };
}

function isOther(name: string): boolean {
  return name.startsWith("TRUNKLINE_") && !SPECIAL.has(name);
}

function isOn(value: string | undefined): boolean {
  return isSet(value) && value !== "0" && value !== "false";
}

/** Adds to `known` what variables named after settings say: `TRUNKLINE_SERVER_PORT`. */
async function readVariables(
  variables: readonly string[],
  env: NodeJS.ProcessEnv,
  known: Variables,
): Promise<Variables> {
  const { settings } = await import("./schema/keys.ts");
  const all = new Map(settings().map((setting) => [setting.variable, setting]));
  let values: Values = known.values;
  const names = new Map(known.names);
  const warnings: string[] = [];
  for (const name of variables) {
    const setting = all.get(name);
    if (setting === undefined) warnings.push(...strayVariable(name, [...all.values()]));
    else {
      const value = readScalar(env[name] ?? "", setting.type);
      values = mergeValues(values, nest(setting.path, value));
      names.set(keyText(setting.path), name);
    }
  }
  return { values, names, warnings };
}

/** A variable that looks like a setting and is none was misspelt. Others belong to someone else. */
function strayVariable(name: string, all: readonly Setting[]): string[] {
  const siblings = all.filter(({ path, variable }) => {
    const group = variable.slice(0, variable.length - String(path.at(-1)).length);
    return path.length > 1 && name.startsWith(group);
  });
  if (siblings.length === 0) return [];
  const known = siblings.map(({ variable }) => variable).join(", ");
  return [`${name} sets nothing. Known: ${known}`];
}
