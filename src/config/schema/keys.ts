import type { Setting as Schema } from "../../base/capability/settings.ts";
import type { KeyPath } from "../layer.ts";
import { schemas } from "./schema.ts";

const SCALARS = ["string", "integer", "number", "boolean"] as const;

/** A single value that has its place in every configuration, and so a variable of its own. */
export interface Setting {
  readonly path: KeyPath;
  readonly type: (typeof SCALARS)[number];
  /** The variable that sets it. */
  readonly variable: string;
}

export const ROOT = schemas.ConfigFile;

/** `limits.maxMessage` → `TRUNKLINE_LIMITS_MAX_MESSAGE`; that of `agent.name` is `TRUNKLINE_AGENT`. */
export function variableOf(path: KeyPath): string {
  const named = path.join(".") === "agent.name" ? ["agent"] : path;
  const words = named.map((step) => String(step).replace(/([a-z0-9])([A-Z])/g, "$1_$2"));
  return `TRUNKLINE_${words.join("_").toUpperCase()}`;
}

export function settings(): Setting[] {
  return [...settingsOf(ROOT, [])];
}

function* settingsOf(schema: Schema, path: KeyPath): Generator<Setting> {
  for (const [key, unresolved] of Object.entries(schema.properties ?? {})) {
    const here = [...path, key];
    const property = settingOf(unresolved);
    const type = property.enum === undefined ? property.type : "string";
    if (type === "object") yield* settingsOf(property, here);
    const scalar = SCALARS.find((one) => one === type);
    if (scalar !== undefined && key !== "$schema") {
      yield { path: here, type: scalar, variable: variableOf(here) };
    }
  }
}

/** What a project's file may set. */
export type ProjectAccess = "always" | "trusted" | "never" | "inside";

/** "inside" when the answer differs among the keys below. */
export function projectAccess(path: KeyPath): ProjectAccess {
  let schema = ROOT;
  for (const step of path) {
    const next = Object.hasOwn(schema.properties ?? {}, step)
      ? schema.properties?.[step]
      : undefined;
    if (next === undefined) return "trusted";
    schema = settingOf(next);
    // What holds for a group holds for each key in it.
    if (schema["x-project"] !== undefined) break;
  }
  return accessOf(schema);
}

function accessOf(schema: Schema): ProjectAccess {
  const own = schema["x-project"];
  if (own !== undefined) return own ? "always" : "never";
  const below = Object.values(schema.properties ?? {}).map((part) => accessOf(settingOf(part)));
  return below.every((access) => access === "trusted") ? "trusted" : "inside";
}

/** The schema of a key: references are followed, and a group may be given by a name alone. */
export function settingOf(schema: Schema): Schema {
  return groupOf(resolve(schema));
}

function groupOf(schema: Schema): Schema {
  const { anyOf = [], ...own } = schema;
  const group = anyOf.map(resolve).find(({ properties }) => properties !== undefined);
  return anyOf.some(({ type }) => type === "string") && group ? { ...own, ...group } : schema;
}

/** The schema that a reference stands for; what stands beside the reference is nearer. */
export function resolve(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...own } = schema;
  return { ...resolve(schemas[$ref.slice(1)] ?? {}), ...own };
}
