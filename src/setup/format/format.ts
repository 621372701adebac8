/**
 * A kind of configuration file that other programs have. Names in a path are keys; where the file has
 * a list, a name stands for the item whose `name` it is.
 */
export interface Format {
  /** What a text says. Throws with the reason where it is not valid, or not a map. */
  read(text: string): unknown;
  /** The text with a value set, or removed if it is undefined; all else stays as it is written. */
  set(text: string, path: KeyPath, value: unknown): string;
}

export type KeyPath = readonly [string, ...string[]];

/** The value at a path, if there is one. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => {
    if (Array.isArray(inner)) return (inner as unknown[]).find((item) => isNamed(item, name));
    if (!isMap(inner) || !Object.hasOwn(inner, name)) return undefined;
    return inner[name];
  }, value);
}

/** The same without the value at a path, and without what is empty then. */
export function without(value: unknown, [name = "", ...rest]: readonly string[]): unknown {
  if (Array.isArray(value)) {
    const items = (value as unknown[]).filter((item) => !isNamed(item, name));
    return items.length === 0 ? undefined : items;
  }
  if (!isMap(value)) return value ?? undefined;
  const inner = rest.length === 0 ? undefined : without(value[name], rest);
  const kept = Object.entries(value).flatMap(([key, item]) => {
    if (key !== name) return [[key, item]];
    return inner === undefined ? [] : [[key, inner]];
  });
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNamed(item: unknown, name: string): boolean {
  return isMap(item) && item.name === name;
}
