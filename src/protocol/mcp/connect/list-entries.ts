import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";
import type { LeftOut } from "./lists.ts";

/**
 * Returns a value as it may be passed on: the same if nothing is wrong with it, a copy without what is wrong,
 * or undefined if nothing of it can be used.
 */
type Shape = (value: unknown) => unknown;

const text: Shape = (value) => (typeof value === "string" ? value : undefined);
const flag: Shape = (value) => (typeof value === "boolean" ? value : undefined);
const count: Shape = (value) => (typeof value === "number" && value >= 0 ? value : undefined);
const share: Shape = (value) =>
  typeof value === "number" && value <= 1 ? count(value) : undefined;
const anObject: Shape = (value) => (isObject(value) ? value : undefined);
const oneOf =
  (...values: readonly unknown[]): Shape =>
  (value) =>
    values.includes(value) ? value : undefined;
/** ISO 8601 with a time zone. */
const moment: Shape = (value) =>
  typeof value === "string" &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.test(value)
    ? value
    : undefined;

function listOf(shape: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const items: readonly unknown[] = value;
    const plain = items.map(shape);
    if (plain.every((item, at) => item === items[at])) return items;
    return plain.filter((item) => item !== undefined);
  };
}

/** An object whose members have these shapes, as far as they are there. Others are passed on. */
function object(members: Readonly<Record<string, Shape>>, required: readonly string[] = []): Shape {
  const shapes = Object.entries(members);
  return (value) => {
    if (!isObject(value)) return undefined;
    let plain: Record<string, unknown> = value;
    for (const [name, shape] of shapes) {
      const member = value[name];
      if (member === undefined) continue;
      const good = shape(member);
      if (good === member) continue;
      if (plain === value) plain = { ...value };
      if (good === undefined) delete plain[name];
      else plain[name] = good;
    }
    return required.every((name) => plain[name] !== undefined) ? plain : undefined;
  };
}

/** The schemas of properties. JSON Schema has booleans for "anything" and "nothing"; clients want objects. */
const properties: Shape = (value) => {
  if (!isObject(value)) return undefined;
  const all = Object.entries(value);
  if (all.every(([, schema]) => isObject(schema))) return value;
  return Object.fromEntries(
    all.map(([name, schema]) => [
      name,
      isObject(schema) ? schema : schema === false ? { not: {} } : {},
    ]),
  );
};

const schema = { properties, required: listOf(text) };
const described = {
  title: text,
  description: text,
  icons: listOf(
    object({ src: text, mimeType: text, sizes: listOf(text), theme: oneOf("light", "dark") }, [
      "src",
    ]),
  ),
  _meta: anObject,
};
const content = {
  ...described,
  name: text,
  mimeType: text,
  annotations: object({
    audience: listOf(oneOf("user", "assistant")),
    priority: share,
    lastModified: moment,
  }),
};

/** MCP 2025-11-25, schema: the entries of the lists, by the member of the result that has them. */
const ENTRIES: Readonly<Record<string, Shape>> = {
  tools: object({
    ...described,
    inputSchema: object(schema),
    outputSchema: object({ ...schema, type: oneOf("object") }, ["type"]),
    annotations: object({
      title: text,
      readOnlyHint: flag,
      destructiveHint: flag,
      idempotentHint: flag,
      openWorldHint: flag,
    }),
    execution: object({ taskSupport: oneOf("required", "optional", "forbidden") }),
  }),
  prompts: object({
    ...described,
    arguments: listOf(
      object({ name: text, title: text, description: text, required: flag }, ["name"]),
    ),
  }),
  resources: object({ ...content, uri: text, size: count }, ["uri"]),
  resourceTemplates: object({ ...content, uriTemplate: text }, ["uriTemplate"]),
};

/**
 * Entries that clients can read. Many clients refuse a whole list for one member of the wrong type, such as a
 * description that is null: one server must not take the tools of all others with it.
 */
export function readableEntries(
  list: string,
  entries: readonly JsonObject[],
  leftOut: LeftOut = () => {},
): JsonObject[] {
  const shape = ENTRIES[list] ?? anObject;
  let wrong = 0;
  const readable = entries.flatMap((entry) => {
    const plain = shape(entry) as JsonObject | undefined;
    if (plain !== entry) wrong++;
    return plain === undefined ? [] : [named(plain)];
  });
  if (wrong > 0) leftOut("members of the wrong type", wrong);
  return readable;
}

/** Resources have had names since 2024-11-05, but some servers give none. */
function named(entry: JsonObject): JsonObject {
  const name = entry.name ?? entry.uri ?? entry.uriTemplate;
  return entry.name === undefined && name !== undefined ? { ...entry, name } : entry;
}
