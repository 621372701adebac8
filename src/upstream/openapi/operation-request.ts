import { isObject, type Json } from "./document.ts";
import type { Operation, Parameter } from "./operations.ts";

/** An HTTP request for a call of an operation. */
export interface OperationRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** The arguments of a call do not make a request. */
export class BadArguments extends Error {}

const DELIMITERS: Readonly<Record<string, string>> = { spaceDelimited: " ", pipeDelimited: "|" };

/** The request that a call makes, without credentials. `base` ends without a slash. */
export function requestFor(operation: Operation, base: string, args: Json): OperationRequest {
  const headers: Record<string, string> = { accept: "application/json, text/*;q=0.9, */*;q=0.5" };
  const query: [string, string][] = [];
  const cookies: string[] = [];
  let { path } = operation;
  for (const parameter of operation.parameters) {
    const value = given(args, parameter.argument);
    if (value === undefined || value === null) {
      if (parameter.isRequired) throw new BadArguments(`'${parameter.argument}' is missing`);
      continue;
    }
    switch (parameter.in) {
      case "path":
        path = path.replaceAll(`{${parameter.name}}`, () => pathText(parameter, value));
        break;
      case "query":
        query.push(...queryPairs(parameter, value));
        break;
      case "header":
        headers[parameter.name] = headerText(simple(parameter, value));
        break;
      case "cookie":
        cookies.push(
          ...queryPairs(parameter, value).map(
            ([name, text]) => `${name}=${encodeURIComponent(text)}`,
          ),
        );
        break;
    }
  }
  if (cookies.length > 0) headers.cookie = cookies.join("; ");
  const url = urlOf(base, path);
  for (const [name, text] of query) url.searchParams.append(name, text);
  const { method } = operation;
  return { method, url, headers, ...bodyFor(operation, args, headers) };
}

/** An argument may be called like what every object has, such as `constructor`. */
function given(args: Json, name: string): unknown {
  return Object.hasOwn(args, name) ? args[name] : undefined;
}

/** A model's argument must not lead to another path of the server. */
function urlOf(base: string, path: string): URL {
  const unnamed = /\{[^{}/]*\}/.exec(path);
  if (unnamed !== null)
    throw new BadArguments(`the document does not describe ${unnamed[0]} of the path`);
  // An encoded slash is common in names of projects, and some servers decode it before they look at the path.
  const [dots] =
    /(?<![^/\\])\.\.?(?![^/\\;])/.exec(path.replaceAll(/%2e|%2f|%5c/gi, decodeURIComponent)) ?? [];
  if (dots !== undefined) throw new BadArguments(`a part of the path may not be '${dots}'`);
  return new URL(base + path);
}

function pathText(parameter: Parameter, value: unknown): string {
  const text = simple(parameter, value, encodeURIComponent);
  if (text === "") throw new BadArguments(`'${parameter.argument}' is empty`);
  const prefixes: Readonly<Record<string, string>> = { label: ".", matrix: `;${parameter.name}=` };
  return (prefixes[parameter.style] ?? "") + text;
}

/** The style of paths and headers: items with commas between. */
function simple(
  { mediaType, isExploded }: Parameter,
  value: unknown,
  encode: (text: string) => string = String,
): string {
  if (mediaType !== undefined) return encode(JSON.stringify(value));
  const item = (each: unknown): string => encode(plain(each));
  if (Array.isArray(value)) return value.map(item).join(",");
  if (!isObject(value)) return item(value);
  return Object.entries(value)
    .map(([name, each]) =>
      isExploded ? `${encode(name)}=${item(each)}` : `${encode(name)},${item(each)}`,
    )
    .join(",");
}

function queryPairs(parameter: Parameter, value: unknown): [string, string][] {
  const { name, style, isExploded, mediaType } = parameter;
  if (mediaType !== undefined) return [[name, JSON.stringify(value)]];
  if (Array.isArray(value)) {
    if (isExploded) return value.map((each) => [name, plain(each)]);
    return [[name, value.map(plain).join(DELIMITERS[style] ?? ",")]];
  }
  if (!isObject(value)) return [[name, plain(value)]];
  const members = Object.entries(value);
  if (style === "deepObject") return members.map(([key, each]) => [`${name}[${key}]`, plain(each)]);
  if (isExploded) return members.map(([key, each]) => [key, plain(each)]);
  return [[name, members.flatMap(([key, each]) => [key, plain(each)]).join(",")]];
}

function plain(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

function headerText(text: string): string {
  if (/[\r\n\0]/.test(text)) throw new BadArguments("a header may not have line breaks");
  return text;
}

function bodyFor(
  { body }: Operation,
  args: Json,
  headers: Record<string, string>,
): { body?: string | Buffer } {
  if (body === undefined) return {};
  const { argument, mediaType, isRequired } = body;
  const value = given(args, argument);
  if (value === undefined) {
    if (isRequired) throw new BadArguments(`'${argument}' is missing`);
    return {};
  }
  headers["content-type"] = mediaType;
  if (/[/+]json\b/i.test(mediaType)) return { body: JSON.stringify(value) };
  const fields = isObject(value) ? Object.entries(value) : [];
  if (/^application\/x-www-form-urlencoded\b/i.test(mediaType)) {
    const pairs = fields.flatMap(([name, each]) => {
      return Array.isArray(each) ? each.map((one) => [name, plain(one)]) : [[name, plain(each)]];
    });
    return { body: new URLSearchParams(pairs).toString() };
  }
  if (/^multipart\/form-data\b/i.test(mediaType)) return multipart(fields, headers);
  return { body: plain(value) };
}

/** RFC 7578. The boundary is random, so that no value contains it. */
function multipart(
  fields: readonly [string, unknown][],
  headers: Record<string, string>,
): { body: string } {
  const boundary = `trunkline-${crypto.randomUUID()}`;
  headers["content-type"] = `multipart/form-data; boundary=${boundary}`;
  const parts = fields.map(([name, value]) => {
    const quoted = name.replace(/[\r\n"]/g, (character) => encodeURIComponent(character));
    return `--${boundary}\r\ncontent-disposition: form-data; name="${quoted}"\r\n\r\n${plain(value)}\r\n`;
  });
  return { body: `${parts.join("")}--${boundary}--\r\n` };
}
