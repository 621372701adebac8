import type { JsonSchema } from "../../../../tool/tool.ts";
import type { JsonObject } from "../../json-object.ts";
import { isObject } from "../../../../base/check.ts";

/** An argument of a tool that is repeated in a header. */
export interface HeaderParam {
  /** In lower case, as Node has it. */
  readonly header: string;
  readonly path: readonly string[];
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const known = new WeakMap<JsonSchema, readonly HeaderParam[]>();

/** The arguments that a tool's schema marks with `x-mcp-header`, at every depth of `properties`. */
export function headerParams(schema: JsonSchema): readonly HeaderParam[] {
  return known.getOrInsertComputed(schema, () => [...find(schema, [])]);
}

function* find(schema: JsonObject, path: readonly string[]): Generator<HeaderParam> {
  if (!isObject(schema.properties)) return;
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    const here = [...path, name];
    const mark = property["x-mcp-header"];
    if (typeof mark === "string" && TOKEN.test(mark)) {
      yield { header: `mcp-param-${mark.toLowerCase()}`, path: here };
    }
    yield* find(property, here);
  }
}

/** Whether a header says the same as the argument it stands for. */
export function saysTheSame(text: string, value: unknown): boolean {
  if (typeof value === "number") return text.trim() !== "" && Number(text) === value;
  return text === String(value);
}

export function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}
