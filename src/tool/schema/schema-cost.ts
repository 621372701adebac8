import type { JsonSchema } from "../tool.ts";

/** Larger schemas are not compiled: that would cost more than an early error is worth. */
const MOST_NODES = 20_000;
const MOST_DEPTH = 100;
/** Followed along its references; one that refers to itself never ends. */
const MOST_STEPS = 5_000;

/**
 * What checking by a schema of somebody else may cost. "light" is linear in the arguments.
 * "heavy" may take exponential time on arguments made for it: it refers to itself, or has a regular
 * expression that can go back and forth. "excessive" is too large to be compiled.
 */
export type SchemaCost = "light" | "heavy" | "excessive";

export function schemaCost(schema: JsonSchema): SchemaCost {
  const counted = { nodes: 0, isHeavy: false };
  if (!count(schema, 0, counted)) return "excessive";
  return counted.isHeavy || !endsSoon(schema) ? "heavy" : "light";
}

/** Whether it is small enough. Looks at all there is, since any of it may be a schema. */
function count(
  value: unknown,
  depth: number,
  counted: { nodes: number; isHeavy: boolean },
): boolean {
  if (typeof value !== "object" || value === null) return true;
  counted.nodes++;
  if (counted.nodes > MOST_NODES || depth > MOST_DEPTH) return false;
  for (const [key, item] of Object.entries(value) as [string, unknown][]) {
    if (key === "pattern" && typeof item === "string") counted.isHeavy ||= !isTame(item);
    if (key === "patternProperties" && typeof item === "object" && item !== null) {
      counted.isHeavy ||= !Object.keys(item).every(isTame);
    }
    counted.nodes += typeof item === "object" ? 0 : 0.1;
    if (!count(item, depth + 1, counted)) return false;
  }
  return true;
}

/**
 * Whether a regular expression of JavaScript compiles fast, and is fast on any text up to the limit. The
 * cost is the number of ways to read a text: a repetition in a repetition has exponentially many, several in a
 * row a power of its length, and each choice in a row doubles them. So there are no repeated groups,
 * no looking around and no references back; few repetitions, one of them being the search for where
 * it begins; and few choices.
 */
export function isTame(source: string): boolean {
  const bare = source.replaceAll(/\\[^1-9kpPu]/g, "x").replaceAll(/\[[^\]]*(?:\]|$)/g, "x");
  if (/\)[*+{]|\(\?[^:]|\\/.test(bare)) return false;
  const choices = bare.match(/[|?(]/g)?.length ?? 0;
  const repetitions = bare.match(/[*+{]/g)?.length ?? 0;
  const power = repetitions + (bare.startsWith("^") ? 0 : 1);
  return choices === 0 ? power <= 2 : power <= 1 && choices <= 12;
}

/** Whether all references can be followed to their ends: then none leads back to itself. */
function endsSoon(root: JsonSchema): boolean {
  let steps = 0;
  const follow = (value: unknown, depth: number): boolean => {
    if (typeof value !== "object" || value === null) return true;
    if (++steps > MOST_STEPS || depth > 2 * MOST_DEPTH) return false;
    return Object.entries(value).every(([key, item]) => {
      if (key === "$defs" || key === "definitions") return true;
      if (key === "$dynamicRef" || key === "$recursiveRef") return false;
      const next = key === "$ref" && typeof item === "string" ? at(root, item) : item;
      return follow(next, depth + 1);
    });
  };
  return follow(root, 0);
}

/** What a reference within a schema stands for. One to elsewhere cannot be followed. */
function at(root: JsonSchema, reference: string): unknown {
  // An anchor may be anywhere, also around this.
  if (!/^#(?:\/|$)/.test(reference)) return root;
  let value: unknown = root;
  for (const step of reference.slice(2).split("/").filter(Boolean)) {
    if (typeof value !== "object" || value === null) return undefined;
    const key = unescape(step);
    value = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
  }
  return value;
}

/** A step of a JSON Pointer in a URI. */
function unescape(step: string): string {
  const text = /%(?![\da-f]{2})/i.test(step) ? step : decodeURI(step);
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}
