import { keyText } from "./code-text.ts";
import { type Schema, type TypeName, listedValues, namedTypes } from "./schema.ts";

const SIMPLE: Readonly<Record<Exclude<TypeName, "object" | "array">, string>> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  null: "null",
};

/** The declaration of a schema's type, with its description. */
export function emitType(name: string, schema: Schema): string {
  const doc = docComment(schema.description, "");
  if (schema.type === "object" && isOnlyObject(schema)) {
    return `${doc}export interface ${name} ${objectType(schema, "")}\n`;
  }
  return `${doc}export type ${name} = ${typeText(schema, "")};\n`;
}

export function typeText(schema: Schema, indent: string): string {
  const all: string[] = [];
  if (schema.$ref !== undefined) all.push(schema.$ref.slice(1));
  const listed = listedValues(schema);
  if (listed !== undefined) {
    const values = listed.map((value) => JSON.stringify(value));
    all.push(unionText(values, indent));
  }
  for (const alternatives of [schema.anyOf, schema.oneOf]) {
    if (alternatives === undefined) continue;
    const types = alternatives.map((one) => typeText(one, indent));
    all.push(unionText(types, indent));
  }
  const saysMore = all.length > 0 && (listed !== undefined || isBareObject(schema));
  if (!saysMore && schema.type !== undefined) {
    const types = namedTypes(schema).map((type) => namedType(type, schema, indent));
    all.unshift(unionText(types, indent));
  }
  if (all.length === 0) return "unknown";
  if (all.length === 1) return all.join("");
  return all.map((text) => (text.includes("| ") ? `(${text})` : text)).join(" & ");
}

function namedType(type: TypeName, schema: Schema, indent: string): string {
  if (type === "object") return objectType(schema, indent);
  if (type !== "array") return SIMPLE[type];
  const item = typeText(schema.items ?? {}, indent);
  return /[|&]|^readonly /.test(item) ? `readonly (${item})[]` : `readonly ${item}[]`;
}

function objectType(schema: Schema, indent: string): string {
  const inner = `${indent}  `;
  const members: string[] = [];
  const types: string[] = [];
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const mark = schema.required?.includes(key) ? "" : "?";
    const type = typeText(property, inner);
    types.push(type);
    const doc = docComment(property.description, inner);
    members.push(`${doc}${inner}readonly ${keyText(key)}${mark}: ${type};\n`);
  }
  for (const key of schema.required ?? []) {
    if (Object.hasOwn(schema.properties ?? {}, key)) continue;
    types.push("unknown");
    members.push(`${inner}readonly ${keyText(key)}: unknown;\n`);
  }
  const others = othersType(schema, types, inner);
  if (others !== undefined) members.push(`${inner}readonly [key: string]: ${others};\n`);
  return members.length === 0 ? "Record<string, never>" : `{\n${members.join("")}${indent}}`;
}

/** The type of unnamed members, if they may be read. */
function othersType(schema: Schema, named: readonly string[], indent: string): string | undefined {
  const others = schema.additionalProperties;
  if (others === false) return undefined;
  if (others === undefined) return named.length === 0 ? "unknown" : undefined;
  const type = typeText(others, indent);
  // An index signature covers the named members too.
  if (named.length === 0 || type === "unknown") return type;
  return unionText([type, ...named, "undefined"], indent);
}

function unionText(texts: readonly string[], indent: string): string {
  const unique = [...new Set(texts)];
  if (unique.includes("unknown")) return "unknown";
  const line = unique.join(" | ");
  if (line.length <= 80 || line.includes("\n")) return line;
  return unique.map((text) => `\n${indent}  | ${text}`).join("");
}

function isOnlyObject(schema: Schema): boolean {
  const { $ref, anyOf, oneOf } = schema;
  const isEmpty = schema.additionalProperties === false && schema.properties === undefined;
  return $ref === undefined && anyOf === undefined && oneOf === undefined && !isEmpty;
}

function isBareObject(schema: Schema): boolean {
  const { properties, required, additionalProperties } = schema;
  if (schema.type !== "object") return false;
  return properties === undefined && required === undefined && additionalProperties === undefined;
}

export function docComment(description: string | undefined, indent: string): string {
  if (description === undefined) return "";
  const text = description.replaceAll("*/", "*\\/");
  const line = `${indent}/** ${text} */`;
  if (line.length <= 100 && !text.includes("\n")) return `${line}\n`;
  const lines = text.split("\n").flatMap((part) => wrap(part, 100 - indent.length - 3));
  return `${indent}/**\n${lines.map((part) => `${indent} * ${part}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
