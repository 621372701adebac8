import { createContext, Script } from "node:vm";

import { Ajv, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Inspect } from "./plain-schema.ts";
import { LinearExpression } from "../../base/text/linear-expression.ts";
import { complaint } from "./schema-complaint.ts";
import { isTame, schemaCost } from "./schema-cost.ts";
import type { JsonSchema } from "../tool.ts";

/** For a schema that may take exponential time; all others take less. */
const LONGEST_CHECK = 100;
/** Longer texts are not matched: an expression may block the process on them. */
const LONGEST_MATCHED = 4096;

/**
 * Other people's schemas are lenient about what they declare; so is the compiler. They are also
 * written by whoever runs the server: nothing in them is copied into the code again and again.
 */
const OPTIONS: Options = {
  strict: false,
  ownProperties: true,
  meta: false,
  validateSchema: false,
  validateFormats: false,
  inlineRefs: false,
  logger: false,
  code: { regExp: Object.assign(boundedExpression, { code: "boundedExpression" }) },
};

/** Accepts everything: the tool checks its arguments itself. */
const unchecked: Inspect = () => undefined;

/**
 * Turns a JSON Schema of draft 7 or 2020-12 into a function. MCP's default is 2020-12. A schema that
 * cannot be read, or is too large, accepts everything. One that may take long is checked with a timeout,
 * and accepts everything once it has exceeded that.
 */
export function compileSchema(schema: JsonSchema): Inspect {
  const cost = schemaCost(schema);
  const validate = cost === "excessive" ? undefined : compile(schema);
  if (validate === undefined) return unchecked;
  const inspect = (value: unknown): Verdict => {
    return { problem: validate(value) ? undefined : complaint(validate.errors ?? []) };
  };
  let isTrusted = true;
  return (value) => {
    if (!isTrusted) return undefined;
    try {
      if (cost === "light") return inspect(value).problem;
      const verdict = runBriefly(LONGEST_CHECK, () => inspect(value));
      isTrusted = verdict !== undefined;
      return verdict?.problem;
    } catch {
      // It refers to itself without end.
      isTrusted = false;
      return undefined;
    }
  };
}

interface Verdict {
  readonly problem: string | undefined;
}

function compile(schema: JsonSchema): ValidateFunction | undefined {
  const { $id: _, $schema: declared, ...plain } = schema;
  const isOld = typeof declared === "string" && /draft-0[4-7]/.test(declared);
  // Many do not say that they are of an older draft.
  const drafts = isOld ? [Ajv] : [Ajv2020, Ajv];
  for (const Draft of drafts) {
    try {
      // One for each: it keeps what it has compiled, and two schemas may name their parts alike.
      const ajv = new Draft(OPTIONS);
      ajv.removeKeyword("uniqueItems");
      ajv.addKeyword({
        keyword: "uniqueItems",
        type: "array",
        schemaType: "boolean",
        error: { message: "must not have an item twice" },
        validate: (isWanted: boolean, items: unknown[]) => !isWanted || areUnique(items),
      });
      return ajv.compile(plain);
    } catch {
      // Try the next draft, if there is one.
    }
  }
  return undefined;
}

/** In the time of one pass. Objects with their members in another order count as others. */
function areUnique(items: readonly unknown[]): boolean {
  return new Set(items.map((item) => JSON.stringify(item))).size === items.length;
}

interface BoundedExpression {
  test(text: string): boolean;
  toString(): string;
}

/** An expression that might block the process matches everything. */
function boundedExpression(source: string, flags: string): BoundedExpression {
  const expression = isTame(source) ? new RegExp(source, flags) : linear(source);
  return {
    test: (text) => text.length > LONGEST_MATCHED || expression.test(text),
    // The compiler tells expressions apart by it.
    toString: () => source,
  };
}

function linear(source: string): Pick<RegExp, "test"> {
  try {
    return new LinearExpression(source);
  } catch {
    return { test: () => true };
  }
}

const room = createContext({ work: undefined });
const script = new Script("work()");

/**
 * Runs something synchronous that must not take long, and stops it when it does, even in the middle
 * of a regular expression. Undefined when it was stopped. It costs a thread for a moment, some
 * 200 µs: too much for what cannot take long.
 */
export function runBriefly<T extends object>(milliseconds: number, work: () => T): T | undefined {
  const before = process.threadCpuUsage();
  for (;;) {
    try {
      room.work = work;
      return script.runInContext(room, { timeout: milliseconds }) as T;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      const { user, system } = process.threadCpuUsage(before);
      // On a busy machine the time may pass without this thread having had a processor.
      if (user + system >= (milliseconds * 1000) / 2) return undefined;
    } finally {
      room.work = undefined;
    }
  }
}
