import { STATUS_CODES } from "node:http";
import { isObject, parsedJson } from "../../base/check.ts";
import { DEFAULT_LIMITS } from "../../base/limit/limits.ts";
import type { ChannelLimits } from "../../wire/channel.ts";
import { memoryPair } from "../../wire/channel/memory.ts";
import type { OpenApiSettings } from "../settings.ts";
import { isDeeper, type Json, textOf, listOf, OpenApiDocument, refused } from "./document.ts";
import { type Content, errorResult, type ToolResult } from "../../tool/tool.ts";
import { httpCall, type HttpRequest, type HttpResult } from "../http/http-call.ts";
import { type Operation, operationsOf, type Parameter, schemesOf } from "./operations.ts";
import { mcpDialect } from "../../protocol/mcp/dialect.ts";
import { METHODS } from "../../protocol/mcp/methods.ts";
import { Peer } from "../../rpc/peer.ts";
import { route, routes } from "../../rpc/route.ts";
import { parseAnywhere } from "../../rpc/message/parse-apart.ts";
import { resolvePeerLimits } from "../../rpc/peer-options.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { whyUnreadable } from "../../base/file/why-unreadable.ts";
import { shownAddress } from "../http/http-exchange.ts";

/** The configured credential of each security scheme of a document, by its name. */
export type Credentials = Readonly<Record<string, string>>;

/**
 * Adds the credentials that an operation needs: of the first alternative for which all are configured.
 * An operation that needs none gets none.
 */
export function withCredentials(
  request: HttpRequest,
  security: readonly (readonly string[])[],
  schemes: Readonly<Record<string, Json>>,
  credentials: Credentials,
): HttpRequest {
  const usable = security.find((needed) =>
    needed.every((name) => Object.hasOwn(credentials, name)),
  );
  const url = new URL(request.url);
  const headers: Record<string, string> = { ...request.headers };
  for (const name of usable ?? []) {
    const { type, in: place, name: key, scheme } = schemes[name] ?? {};
    const secret = credentials[name] ?? "";
    if (type === "apiKey" && typeof key === "string") {
      if (place === "query") url.searchParams.set(key, secret);
      else if (place === "header") headers[key.toLowerCase()] = secret;
      else if (place === "cookie") {
        const cookie = `${key}=${encodeURIComponent(secret)}`;
        headers.cookie = headers.cookie === undefined ? cookie : `${headers.cookie}; ${cookie}`;
      }
    } else if (type === "http" && String(scheme).toLowerCase() === "basic") {
      headers.authorization = `Basic ${Buffer.from(secret).toString("base64")}`;
    } else headers.authorization = `Bearer ${secret}`;
  }
  return { ...request, url, headers };
}

/** The arguments of a call cannot be turned into a request. */
class BadArguments extends Error {}

const DELIMITERS: Readonly<Record<string, string>> = { spaceDelimited: " ", pipeDelimited: "|" };

/** The request that a call makes, without credentials. `base` ends without a slash. */
export function requestFor(operation: Operation, base: string, args: Json): HttpRequest {
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
  return { method: operation.method, url, headers, ...bodyFor(operation, args, headers) };
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

/** Characters of an error that are repeated. */
const LONGEST_ERROR = 4_000;
/** Levels of an object: those of a message, without the ones around it. */
const MOST_LEVELS = DEFAULT_LIMITS.maxDepth - 8;

/** The answer to a request as the result of a tool. */
function resultOf(what: string, { status, type, body, isCut }: HttpResult): ToolResult {
  if (status >= 300) return failed(`${what} answered ${statusText(status)}${hint(status)}`, body);
  const ends = isCut
    ? [note(`The answer is longer than ${body.length} bytes and was cut off.`)]
    : [];
  if (body.length === 0)
    return { content: [note(`${what} answered ${statusText(status)}.`), ...ends] };
  const [media = ""] = type.split(";");
  if (/^image\//i.test(media) && !/svg/i.test(media) && !isCut) {
    return { content: [{ type: "image", data: body.toString("base64"), mimeType: media.trim() }] };
  }
  if (!isText(media, body)) {
    return {
      content: [note(`${what} answered ${body.length} bytes of ${media || "an unknown type"}.`)],
    };
  }
  const text = body.toString("utf8");
  const value = isCut ? undefined : parsedJson(text);
  return {
    content: [note(text), ...ends],
    // A result has an object; a list, and what is too deep for a message, is in the text only.
    ...(isObject(value) && !isDeeper(value, MOST_LEVELS) ? { structuredContent: value } : {}),
  };
}

/** The answer for a request that failed before there was one. */
function failed(why: string, body: Buffer = Buffer.alloc(0)): ToolResult {
  const said = body
    .subarray(0, LONGEST_ERROR * 4)
    .toString("utf8")
    .slice(0, LONGEST_ERROR)
    .trim();
  const text = said === "" ? `${why}.` : `${why}: ${said}`;
  return errorResult(text);
}

function note(text: string): Content {
  return { type: "text", text };
}

function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? ""}`.trim();
}

function hint(status: number): string {
  if (status === 401)
    return " (it wants credentials, or others: see 'auth' and 'headers' of the server)";
  if (status === 429) return " (too many requests)";
  return "";
}

function isText(media: string, body: Buffer): boolean {
  if (/^text\/|json|xml|yaml|javascript|urlencoded|csv|graphql/i.test(media)) return true;
  return (
    !body.subarray(0, 1_000).includes(0) && /^(?:application\/octet-stream)?$/i.test(media.trim())
  );
}

/** Bytes of an answer that a model may get. */
const LARGEST_ANSWER = 1_000_000;

/**
 * The operations of an OpenAPI document as an MCP server in this process: whoever uses it need not know
 * that it is none.
 */
export async function openApiServer(settings: OpenApiSettings, limits: Partial<ChannelLimits>) {
  // A document that is read is served to whoever has the other end of the channel.
  const { document, base } = await loadDocument(settings);
  const { auth = {}, headers: configured = {} } = settings;
  const schemes = schemesOf(document);
  const { info, servers } = document.value;
  /** The address of the API in the document; `url` of the settings replaces it. */
  const named = placeOf(servers);
  const operations = new Map(
    operationsOf(document, settings).map((each) => [each.tool.name, each]),
  );

  /** An operation with `servers` of its own is called there, if that is the same origin. */
  const baseFor = (own: Operation["servers"]): string => {
    // Some documents repeat their own address with each path.
    const place = placeOf(own);
    if (place !== undefined && place === named) return base;
    const from = new URL(base);
    const other = own === undefined ? undefined : serverOf(own, from);
    if (other === undefined) return base;
    if (other.origin === from.origin) return trimmed(other);
    throw new BadArguments(`its document sends it elsewhere, to ${other.origin}`);
  };

  const requestOf = (operation: Operation, args: Json): HttpRequest => {
    const plainly = requestFor(operation, baseFor(operation.servers), args);
    const request = withCredentials(plainly, operation.security, schemes, auth);
    // A model must not replace configured headers, in upper or lower case.
    const own = new Set(Object.keys(configured).map((name) => name.toLowerCase()));
    const others = Object.entries(request.headers).filter(([name]) => !own.has(name.toLowerCase()));
    return { ...request, headers: { ...Object.fromEntries(others), ...configured } };
  };

  const call = async (name: string, args: Json, signal: AbortSignal): Promise<object> => {
    const operation = operations.get(name);
    if (operation === undefined) return failed(`There is no operation '${name}'`);
    const what = `${operation.method} ${operation.path}`;
    try {
      return resultOf(what, await httpCall(requestOf(operation, args), LARGEST_ANSWER, signal));
    } catch (error) {
      if (error instanceof BadArguments) return failed(`Cannot call ${what}: ${error.message}`);
      const { code, message } = error as NodeJS.ErrnoException;
      return failed(`${what} failed: ${message || code || String(error)}`);
    }
  };

  const { title, version } = isObject(info) ? info : {};
  const serverInfo = { name: textOf(title) ?? "OpenAPI", version: textOf(version) ?? "" };
  const hello = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo };
  const tools = Array.from(operations.values(), ({ tool }) => tool);
  const [ours, theirs] = memoryPair(limits);
  const table = routes(
    route(METHODS.initialize, () => hello),
    route(METHODS.ping, () => ({})),
    route(METHODS.listTools, () => ({ tools })),
    route(METHODS.callTool, ({ name, arguments: args }, { signal }) =>
      call(name, args ?? {}, signal),
    ),
  );
  const peer = new Peer(ours, undefined, { dialect: mcpDialect, routes: table });
  return { channel: theirs, end: () => peer.close(0) };
}

const LARGEST = 32 * 1024 * 1024;
/** Milliseconds. */
const PATIENCE = 20_000;

export interface LoadedDocument {
  readonly document: OpenApiDocument;
  /** The address of the API, without a slash at its end. */
  readonly base: string;
}

/** Reads a document, and finds out where its API is. A document that is there, too, gets the headers. */
export async function loadDocument(settings: OpenApiSettings): Promise<LoadedDocument> {
  const { openapi, url, headers = {} } = settings;
  const from = /^https?:\/\//i.test(openapi) ? new URL(openapi) : undefined;
  const isOfApi = from !== undefined && (url === undefined || new URL(url).origin === from.origin);
  const text =
    from === undefined ? readFile(openapi) : await download(from, isOfApi ? headers : {});
  const document = new OpenApiDocument(await parse(text));
  return { document, base: url === undefined ? baseOf(document, from) : trimmed(url) };
}

/** The first of some `servers`; undefined if they name none. */
export function serverOf(servers: unknown, from: URL | undefined): URL | undefined {
  const [first] = listOf(servers);
  if (!isObject(first) || typeof first.url !== "string") return undefined;
  const { variables } = first;
  const filled = first.url.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable =
      isObject(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined;
    const value = isObject(variable) ? variable.default : undefined;
    return typeof value === "string" || typeof value === "number" ? String(value) : whole;
  });
  return URL.parse(filled, from?.href) ?? undefined;
}

/** Host and path of the first of some `servers`, whatever their scheme; undefined if they have no host. */
function placeOf(servers: unknown): string | undefined {
  const url = serverOf(servers, new URL("https://document.invalid"));
  return url === undefined || url.host === "document.invalid" ? undefined : url.host + url.pathname;
}

/** An address without a slash at its end. */
export function trimmed(url: string | URL): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname.replace(/(?<!\/)\/+$/, "");
}

/**
 * A document of the web may send its operations, and the credentials for them, to its own origin only:
 * it may change at any time.
 */
function baseOf({ value }: OpenApiDocument, from: URL | undefined): string {
  const server = serverOf(value.servers ?? [{ url: "/" }], from);
  const isWeb = server !== undefined && /^https?:$/.test(server.protocol);
  if (!isWeb || /[{}]|%7[bd]/i.test(server.href)) {
    throw refused("does not say where its API is ('servers'). Set 'url' of the server");
  }
  if (from !== undefined && server.origin !== from.origin) {
    const next = `Set 'url' of the server to that, if you trust it`;
    throw refused(`sends its calls elsewhere, to ${trimmed(server)}. ${next}`);
  }
  return trimmed(server);
}

function readFile(path: string): string {
  let bytes: Buffer | undefined;
  try {
    bytes = readRegularFile(path, { most: LARGEST });
  } catch (error) {
    throw refused(`cannot be read: '${path}': ${whyUnreadable(error)}`);
  }
  if (bytes === undefined) throw refused(`is missing: there is no file '${path}'`);
  return bytes.toString("utf8");
}

async function download(url: URL, headers: Readonly<Record<string, string>>): Promise<string> {
  const signal = AbortSignal.timeout(PATIENCE);
  const accept = "application/json, application/yaml, */*;q=0.5";
  const request = { method: "GET", url, headers: { ...headers, accept } };
  const { status, body, isCut } = await httpCall(request, LARGEST, signal).catch((error: Error) => {
    throw refused(`cannot be read from ${url.origin}: ${error.message || String(error)}`);
  });
  if (status !== 200) throw refused(`cannot be read: ${shownAddress(url)} answered ${status}`);
  if (isCut) throw refused(`is longer than ${LARGEST} bytes`);
  return body.toString("utf8");
}

/** More unclosed brackets than texts have by chance. The parser takes minutes for megabytes of them. */
const MOST_OPEN = 10_000;

function hasOpenBrackets(text: string): boolean {
  let open = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]|- (?=- )/g)) {
    open += bracket === "]" || bracket === "}" ? -1 : 1;
    if (open > MOST_OPEN) return true;
  }
  return false;
}

async function parse(text: string): Promise<Json> {
  try {
    if (/^\s*\{/.test(text)) return (await parseAnywhere(text, resolvePeerLimits())) as Json;
    if (hasOpenBrackets(text)) throw new Error("its brackets are not closed");
    const yaml = await import("yaml");
    return yaml.parse(text, { maxAliasCount: 1_000 }) as Json;
  } catch (error) {
    const [line = ""] = (error as Error).message.split("\n");
    const [, tooMuch] = /^Invalid Request: message (is .+)/.exec(line) ?? [];
    if (tooMuch !== undefined) throw refused(tooMuch);
    throw refused(`is neither JSON nor YAML: ${line.replace(/:$/, "")}`);
  }
}
