import { TrunklineError } from "../base/errors.ts";
import { formerName, type KeyPath, type ConfigLayer } from "./layer.ts";
import { isOn, isSet } from "../base/process/environment.ts";
import { expandPath } from "./locations.ts";
import type { Setting } from "./schema/keys.gen.ts";
import { readScalar, SingleValues } from "./set-path.ts";

/** Variables that need no schema to be understood. */
const SPECIAL: ReadonlySet<string> = new Set([
  "TRUNKLINE_CONFIG",
  "TRUNKLINE_DATA",
  "TRUNKLINE_VERBOSE",
]);

export async function environmentLayer(
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly layer: ConfigLayer; readonly warnings: readonly string[] }> {
  const set = new SingleValues();
  if (isSet(env.TRUNKLINE_DATA)) {
    set.add(["data"], expandPath(env.TRUNKLINE_DATA, cwd, env), "TRUNKLINE_DATA");
  }
  const verbose = ["TRUNKLINE_VERBOSE", "REMOTE_JUGGLER_VERBOSE"].find((name) => isOn(env[name]));
  if (verbose !== undefined) set.add(["log", "verbose"], true, verbose);
  const others = Object.keys(env).filter((name) => isOther(name) && isSet(env[name]));
  const warnings = others.length === 0 ? [] : await readVariables(others, env, set);
  const where = (path: KeyPath): string => set.nameOf(path) ?? "the environment";
  const layer: ConfigLayer = {
    kind: "environment",
    values: set.values,
    isRight: others.length === 0,
    where,
    complain: (path, says) => {
      const name = where(path);
      return new TrunklineError("config", `${name} is '${env[name] ?? ""}', but ${says}`);
    },
  };
  return { layer, warnings };
}

function isOther(name: string): boolean {
  return name.startsWith("TRUNKLINE_") && !SPECIAL.has(name);
}

/** Adds the values of variables that are named after settings, such as `TRUNKLINE_SERVE_PORT`. Returns warnings. */
async function readVariables(
  variables: readonly string[],
  env: NodeJS.ProcessEnv,
  set: SingleValues,
): Promise<string[]> {
  const { SETTINGS } = await import("./schema/keys.gen.ts");
  const all = new Map(SETTINGS.map((setting) => [setting.variable, setting]));
  return variables.flatMap((name) => {
    // The layer keeps the old name, so that its notice names it.
    const renamed = name.replace(/^TRUNKLINE_SERVER_/, "TRUNKLINE_SERVE_");
    const former = all.get(renamed);
    const setting = all.get(name) ?? (former && { ...former, path: formerName(former.path) });
    if (setting === undefined) return strayVariable(name, renamed, [...all.values()]);
    set.add(setting.path, readScalar(env[name] ?? "", setting.type), name);
    return [];
  });
}

/** A variable that resembles a setting's was misspelt. Others belong to other programs. */
function strayVariable(name: string, renamed: string, all: readonly Setting[]): string[] {
  const siblings = all.filter(({ path, variable }) => {
    const group = variable.slice(0, variable.length - String(path.at(-1)).length);
    return path.length > 1 && renamed.startsWith(group);
  });
  if (siblings.length === 0) return [];
  const known = siblings.map(({ variable }) => variable).join(", ");
  return [`${name} sets nothing. Known: ${known}`];
}
