import type { Arguments, JsonSchema, Tool } from "../tool.ts";
import type { Fits } from "./plain-schema.ts";

/** Says what is wrong with a value, or nothing. */
export type Inspect = (value: unknown) => string | undefined;

const plain = new WeakMap<JsonSchema, Fits>();
const compiled = new WeakMap<JsonSchema, Inspect>();
let plainSchema: ((schema: JsonSchema) => Fits | undefined) | undefined;
let compile: ((schema: JsonSchema) => Inspect) | undefined;

/**
 * What is wrong with a call's arguments by the tool's own schema: `'text' must be string`. A schema is
 * compiled once, when arguments are not known to fit it otherwise. Both ways are loaded on first use.
 */
export function argumentProblem(
  tool: Pick<Tool, "definition">,
  args: Arguments,
): string | undefined | Promise<string | undefined> {
  const { inputSchema } = tool.definition;
  // Tools of other servers come as JSON: the schema may be missing or no object.
  if (typeof inputSchema !== "object" || inputSchema === null) return undefined;
  const fits = plain.get(inputSchema) ?? readNow(inputSchema);
  if (fits === undefined) return loadPlain().then(() => argumentProblem(tool, args));
  if (fits(args)) return undefined;
  const inspect = compiled.get(inputSchema) ?? compileNow(inputSchema);
  if (inspect !== undefined) return inspect(args);
  return loadCompiler().then(() => compileNow(inputSchema)?.(args));
}

function readNow(schema: JsonSchema): Fits | undefined {
  if (plainSchema === undefined) return undefined;
  const fits = plainSchema(schema) ?? (() => false);
  plain.set(schema, fits);
  return fits;
}

async function loadPlain(): Promise<void> {
  ({ plainSchema } = await import("./plain-schema.ts"));
}

function compileNow(schema: JsonSchema): Inspect | undefined {
  const inspect = compile?.(schema);
  if (inspect !== undefined) compiled.set(schema, inspect);
  return inspect;
}

async function loadCompiler(): Promise<void> {
  ({ compileSchema: compile } = await import("./compile-schema.ts"));
}
