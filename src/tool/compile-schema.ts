import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";

import type { Inspect } from "./argument-problem.ts";
import type { JsonSchema } from "./tool.ts";

/** Other people's schemas are lenient about what they declare; so is the compiler. */
const OPTIONS = { strict: false, allErrors: false, validateFormats: false, logger: false } as const;

const drafts = { "2020": new Ajv2020(OPTIONS), "07": new Ajv(OPTIONS) };

/** Turns a JSON Schema of draft 7 or 2020-12 into a function. MCP's default is 2020-12. */
export function compileSchema(schema: JsonSchema): Inspect {
  const dialect = typeof schema.$schema === "string" ? schema.$schema : "2020";
  const ajv = /draft-0[4-7]/.test(dialect) ? drafts["07"] : drafts["2020"];
  let validate: ValidateFunction;
  try {
    // Two tools may well have schemas with the same $id.
    const { $id: _, $schema: __, ...plain } = schema;
    validate = ajv.compile(plain);
  } catch {
    // A schema that cannot be read says nothing about the arguments; the tool itself still does.
    return () => undefined;
  }
  return (value) => (validate(value) ? undefined : describe(validate.errors?.[0]));
}

function describe(error: ErrorObject | undefined): string {
  if (error === undefined) return "does not fit the schema";
  const { instancePath, keyword, message, params } = error;
  const path = instancePath
    .slice(1)
    .replaceAll("/", ".")
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
  if (keyword === "required") {
    const missing = (params as { missingProperty: string }).missingProperty;
    return `'${path === "" ? "" : `${path}.`}${missing}' is missing`;
  }
  if (keyword === "additionalProperties") {
    const extra = (params as { additionalProperty: string }).additionalProperty;
    return `'${path === "" ? "" : `${path}.`}${extra}' is not known`;
  }
  const allowed = (params as { allowedValues?: unknown[] }).allowedValues;
  const says = allowed === undefined ? message : `must be one of: ${allowed.join(", ")}`;
  return path === "" ? `arguments ${says}` : `'${path}' ${says}`;
}
