import { TrunklineError } from "../base/errors.ts";
import { keyText, type KeyPath, type Layer, type Values } from "./layer.ts";
import { expandPath, isSet } from "./locations.ts";

/** Variables that need no schema to be understood. */
const SPECIAL: ReadonlySet<string> = new Set([
  "TRUNKLINE_CONFIG",
  "TRUNKLINE_DATA",
  "TRUNKLINE_VERBOSE",
]);

/** What variables set, and by which of them. */
export interface Variables {
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
  const { readVariables } = await import("./variables.ts");
  const variables = readVariables(others, env, special);
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
