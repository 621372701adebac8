import type { Arguments, JsonSchema, Tool } from "../tool.ts";
import { type Fits, plainSchema } from "./plain-schema.ts";

/** Says what is wrong with a value, or nothing. */
export type Inspect = (value: unknown) => string | undefined;

const plain = new WeakMap<JsonSchema, Fits>();
const compiled = new WeakMap<JsonSchema, Inspect>();
let compile: ((schema: JsonSchema) => Inspect) | undefined;

/**
 * What is wrong with a call's arguments by the tool's own schema: `'text' must be string`. A schema is
 * compiled once, when arguments are not known to fit it otherwise; the compiler is loaded with the first.
 */
export function argumentProblem(
  tool: Tool,
  args: Arguments,
): string | undefined | Promise<string | undefined> {
  const { inputSchema } = tool.definition;
  // Tools of other servers come as JSON: the schema may be missing or no object.
  if (typeof inputSchema !== "object" || inputSchema === null) return undefined;
  if (fitsOf(inputSchema)(args)) return undefined;
  const inspect = compiled.get(inputSchema) ?? compileNow(inputSchema);
  if (inspect !== undefined) return inspect(args);
  return loadCompiler().then(() => compileNow(inputSchema)?.(args));
}

function fitsOf(schema: JsonSchema): Fits {
  let fits = plain.get(schema);
  if (fits === undefined) plain.set(schema, (fits = plainSchema(schema) ?? (() => false)));
  return fits;
}

function compileNow(schema: JsonSchema): Inspect | undefined {
  const inspect = compile?.(schema);
  if (inspect !== undefined) compiled.set(schema, inspect);
  return inspect;
}

async function loadCompiler(): Promise<void> {
  ({ compileSchema: compile } = await import("./compile-schema.ts"));
}
