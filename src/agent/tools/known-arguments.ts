import type { Arguments, JsonSchema } from "../../tool/tool.ts";

export interface KnownArguments {
  readonly args: Arguments;
  /** The paths of properties that the tool does not have, such as `edits.0.reason`. */
  readonly unknown: readonly string[];
}

/**
 * Removes properties that a tool's schema rules out. Models invent some (`explanation`), and a call
 * that is complete without them need not be made again.
 */
export function knownArguments(args: Arguments, schema: JsonSchema): KnownArguments {
  const unknown: string[] = [];
  const known = strip(args, schema, "", unknown) as Arguments;
  return unknown.length === 0 ? { args, unknown } : { args: known, unknown };
}

/** Says which properties were ignored; empty if none were. */
export function ignoredText(unknown: readonly string[]): string {
  if (unknown.length === 0) return "";
  const names = unknown.slice(0, MOST_NAMES).map((name) => `'${name.slice(0, LONGEST_NAME)}'`);
  const rest = unknown.length > MOST_NAMES ? ` and ${unknown.length - MOST_NAMES} more` : "";
  return `(Ignored, since the tool has no such arguments: ${names.join(", ")}${rest}.)`;
}

const MOST_NAMES = 10;
const LONGEST_NAME = 100;

function strip(value: unknown, schema: unknown, path: string, unknown: string[]): unknown {
  if (!isRecord(schema)) return value;
  if (Array.isArray(value)) {
    const { items } = schema;
    return value.map((each, index) => strip(each, items, `${path}${index}.`, unknown));
  }
  const { properties, additionalProperties } = schema;
  if (!isRecord(value) || !isRecord(properties)) return value;
  // With pattern properties and the like, only the validator can say what is ruled out.
  const isClosed = additionalProperties === false && schema.patternProperties === undefined;
  const kept: [string, unknown][] = [];
  for (const [name, each] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) {
      kept.push([name, strip(each, properties[name], `${path}${name}.`, unknown)]);
    } else if (isClosed) unknown.push(`${path}${name}`);
    else kept.push([name, each]);
  }
  return Object.fromEntries(kept);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
