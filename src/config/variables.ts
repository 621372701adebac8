import type { Variables } from "./environment.ts";
import { keyText, mergeValues, type Values } from "./layer.ts";
import { type Setting, settings } from "./schema/keys.ts";
import { nest, readScalar } from "./set-path.ts";

/** Adds to `known` what variables named after settings say: `TRUNKLINE_SERVER_PORT`. */
export function readVariables(
  variables: readonly string[],
  env: NodeJS.ProcessEnv,
  known: Variables,
): Variables {
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
