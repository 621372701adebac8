import type { JsonObject } from "./methods.ts";

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** What a message's `_meta` holds for us. */
export function ours(meta: unknown): JsonObject {
  return objectOf(objectOf(meta).trunkline);
}
