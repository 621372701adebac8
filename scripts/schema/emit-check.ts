import { FunctionEmitter } from "./emit-function.ts";
import { isPlainReference } from "./kinds.ts";
import type { Schema, Schemas } from "./schema.ts";

/** Whether a function returns the problem, or only whether there is one. */
export type Mode = "check" | "test";

/**
 * Emits one exported check for each schema, and the functions that alternatives need: a `test` finds
 * out without allocating whether one alternative matches, before the next is tried.
 */
export class CheckEmitter {
  readonly schemas: Schemas;
  readonly #functions = new Map<string, string>();
  readonly #names = new Map<Schema, string>();
  readonly #patterns = new Map<string, string>();

  constructor(schemas: Schemas) {
    this.schemas = schemas;
    for (const [name, schema] of Object.entries(schemas)) this.#names.set(schema, name);
  }

  emit(): string {
    for (const [name, schema] of Object.entries(this.schemas)) this.#emit(name, schema, "check");
    const patterns = [...this.#patterns].map(([source, name]) => {
      return `const ${name} = new RegExp(${JSON.stringify(source)}, "u");\n`;
    });
    return [patterns.join(""), ...this.#functions.values()]
      .filter((part) => part !== "")
      .join("\n");
  }

  /** The name of the function for a schema inside another; emits the function if it is new. */
  function(schema: Schema, mode: Mode, owner: string): string {
    const isReference = schema.$ref !== undefined && isPlainReference(schema);
    const name = isReference ? (schema.$ref ?? "").slice(1) : this.#nameOf(schema, owner);
    return this.#emit(name, isReference ? (this.schemas[name] ?? {}) : schema, mode);
  }

  /** The name of a compiled pattern. */
  pattern(source: string): string {
    const known = this.#patterns.get(source);
    if (known !== undefined) return known;
    const name = `pattern${this.#patterns.size + 1}`;
    this.#patterns.set(source, name);
    return name;
  }

  #nameOf(schema: Schema, owner: string): string {
    const known = this.#names.get(schema);
    if (known !== undefined) return known;
    const taken = new Set(this.#names.values());
    let number = 1;
    while (taken.has(`${owner}_${number}`)) number++;
    this.#names.set(schema, `${owner}_${number}`);
    return `${owner}_${number}`;
  }

  #emit(name: string, schema: Schema, mode: Mode): string {
    const functionName = mode === "check" ? `check${name}` : `fits${name}`;
    if (this.#functions.has(functionName)) return functionName;
    // Reserves the name first, because a schema may contain itself.
    this.#functions.set(functionName, "");
    const body = new FunctionEmitter(this, name, mode).body(schema);
    const lines = body.map((line) => `  ${line}\n`).join("");
    const value = body.length === 0 ? "" : "value";
    const isExported = Object.hasOwn(this.schemas, name);
    const head =
      mode === "check"
        ? `${isExported ? "export " : ""}const ${functionName}: Check${isExported ? `<${name}>` : ""} = (${value}) => {\n`
        : `const ${functionName}: (value: unknown) => boolean = (${value}) => {\n`;
    const end = mode === "check" ? "return undefined;" : "return true;";
    this.#functions.set(functionName, `${head}${lines}  ${end}\n};\n`);
    return functionName;
  }
}
