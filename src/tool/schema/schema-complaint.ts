import type { ErrorObject } from "ajv";

const MOST_ALTERNATIVES = 3;
const LONGEST_NAME = 200;
const LONGEST_LIST = 500;

/** What a schema found wrong, in words that name the field: `'text' must be string`. */
export function complaint(errors: readonly ErrorObject[]): string {
  const last = errors.at(-1);
  if (last === undefined) return "do not fit the schema";
  if ((last.keyword !== "anyOf" && last.keyword !== "oneOf") || errors.length === 1) {
    return describe(errors[0] ?? last);
  }
  const alternatives = [...new Set(errors.slice(0, -1).map(describe))];
  return alternatives.slice(0, MOST_ALTERNATIVES).join(", or ");
}

function describe({ instancePath, keyword, message, params }: ErrorObject): string {
  const path = instancePath
    .slice(1)
    .replaceAll("/", ".")
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
  const told = params as Readonly<Record<string, unknown>>;
  switch (keyword) {
    case "required":
    case "dependentRequired":
    case "dependencies":
      return `${name(path, told.missingProperty)} is missing`;
    case "additionalProperties":
      return `${name(path, told.additionalProperty)} is not known`;
    case "unevaluatedProperties":
      return `${name(path, told.unevaluatedProperty)} is not known`;
    case "false schema":
      return `${name(path)} is not allowed`;
    case "enum":
      return `${name(path)} must be one of: ${list(told.allowedValues)}`;
    case "const":
      return `${name(path)} must be ${list([told.allowedValue])}`;
    default:
      return `${name(path)} ${message ?? "does not fit the schema"}`;
  }
}

function name(path: string, member?: unknown): string {
  const whole = typeof member === "string" ? `${path === "" ? "" : `${path}.`}${member}` : path;
  if (whole === "") return typeof member === "string" ? "''" : "arguments";
  return whole.length > LONGEST_NAME ? `'${whole.slice(0, LONGEST_NAME)}…'` : `'${whole}'`;
}

function list(values: unknown): string {
  if (!Array.isArray(values)) return "what the schema says";
  const words = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  const text = words.join(", ");
  return text.length > LONGEST_LIST ? `${text.slice(0, LONGEST_LIST)}…` : text;
}
