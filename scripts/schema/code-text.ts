import type { TypeName } from "./schema.ts";

const INHERITED: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype));

export function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

/** A key as source code: without quotes if possible. */
export function keyText(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}

/** The condition that a value is of a type. */
export function is(type: TypeName, value: string): string {
  if (type === "object") return `isObject(${value})`;
  if (type === "array") return `Array.isArray(${value})`;
  if (type === "null") return `${value} === null`;
  if (type === "number") return `typeof ${value} === "number" && Number.isFinite(${value})`;
  if (type === "integer") return `typeof ${value} === "number" && Number.isInteger(${value})`;
  return `typeof ${value} === "${type}"`;
}

/** The condition that a value is not of a type. `isPart` if it is combined with others. */
export function isNot(type: TypeName, value: string, isPart: boolean): string {
  if (type === "object" || type === "array") return `!${is(type, value)}`;
  if (type === "null") return `${value} !== null`;
  if (type !== "number" && type !== "integer") return `typeof ${value} !== "${type}"`;
  const test = type === "number" ? "isFinite" : "isInteger";
  const text = `typeof ${value} !== "number" || !Number.${test}(${value})`;
  return isPart ? `(${text})` : text;
}

/** A member that every object inherits is read only if it is the object's own. */
export function readMember(value: string, key: string): string {
  const member = keyText(key) === key ? `${value}.${key}` : `${value}[${JSON.stringify(key)}]`;
  if (!INHERITED.has(key)) return member;
  return `Object.hasOwn(${value}, ${JSON.stringify(key)}) ? ${member} : undefined`;
}
