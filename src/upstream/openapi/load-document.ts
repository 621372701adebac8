import { parseAnywhere } from "../../rpc/message/parse-apart.ts";
import { resolvePeerLimits } from "../../rpc/peer-options.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { whyUnreadable } from "../../base/file/why-unreadable.ts";
import { shownAddress } from "../http/http-exchange.ts";
import { isObject, type Json, listOf, OpenApiDocument, refused } from "./document.ts";
import { httpCall } from "../http/http-call.ts";

const LARGEST = 32 * 1024 * 1024;
/** Milliseconds. */
const PATIENCE = 20_000;

export interface LoadedDocument {
  readonly document: OpenApiDocument;
  /** The address of the API, without a slash at its end. */
  readonly base: string;
}

export interface LoadOptions {
  /** A file or a URL. */
  readonly openapi: string;
  /** The address of the API, where it is not that of the document. */
  readonly url?: string | undefined;
  /** Sent for a document that is at the origin of the API. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Reads a document, and finds out where its API is. */
export async function loadDocument({
  openapi,
  url,
  headers,
}: LoadOptions): Promise<LoadedDocument> {
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

/** More than texts in a document have by chance. The parser takes minutes for megabytes of them. */
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
