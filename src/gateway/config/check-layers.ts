import { type Layer, mergeValues, type Values } from "./layer.ts";

/**
 * The layers in one, the last the strongest. Each is checked on top of the weaker ones, since it may
 * set a part of what they began; what is wrong then is its own.
 */
export async function checkedValues(layers: readonly Layer[]): Promise<Values> {
  let merged: Values = {};
  for (const layer of layers) {
    if (Object.keys(layer.values).length === 0) continue;
    merged = mergeValues(merged, layer.values);
    if (layer.isRight) continue;
    const { checkConfigFile } = await import("./schema/schema.gen.ts");
    const problem = checkConfigFile(merged);
    if (problem !== undefined) throw layer.complain(problem.path, problem.says);
  }
  const { $schema: _, ...values } = merged;
  return values;
}
