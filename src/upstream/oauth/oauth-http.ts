import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";

import { TrunklineError } from "../../base/errors.ts";
import { isLoopback, isPrivateAddress } from "../../base/private-address.ts";
import {
  publicLookup,
  type PublicLookupOptions,
  refusePrivate,
  type Resolve,
} from "../../base/public-lookup.ts";

export interface OAuthHttpOptions {
  /** The MCP server, by the address that the person has configured. */
  readonly server: URL;
  /** The person has configured the issuer, too: it may be in a private network. */
  readonly trustsIssuer: boolean;
  readonly resolve?: Resolve;
  /** Milliseconds that one request may take. */
  readonly timeout?: number;
}

export interface OAuthRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | undefined;
}

const TIMEOUT = 15_000;
const LARGEST_ANSWER = 1_000_000;
/** Statuses whose `Response` has no body. */
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Requests to authorization servers. Their addresses come from the MCP server, so they lead to a private
 * network only if the person has configured a server there, and without TLS only to this machine.
 * Redirections are not followed.
 */
export class OAuthHttp {
  readonly #options: OAuthHttpOptions;

  constructor(options: OAuthHttpOptions) {
    this.#options = options;
  }

  /** The answer with its body, in the form that `oauth4webapi` takes. */
  async fetch(address: string, request: OAuthRequest): Promise<Response> {
    const url = new URL(address);
    const response = await this.#send(url, request);
    const status = response.statusCode ?? 500;
    const body = await bodyOf(url, response);
    const headers = new Headers();
    for (const [name, value] of Object.entries(response.headers)) {
      // The library would report this header instead of the error in the body.
      if (value !== undefined && name !== "www-authenticate") headers.set(name, String(value));
    }
    return new Response(NO_BODY.has(status) ? null : body, { status, headers });
  }

  /** The status and the headers; the body is not read, since it may have no end. */
  async head(url: URL, request: OAuthRequest): Promise<IncomingMessage> {
    const response = await this.#send(url, request);
    response.on("error", () => {}).destroy();
    return response;
  }

  /** The object that an address serves as JSON; undefined if it serves none. */
  async json(url: URL): Promise<Readonly<Record<string, unknown>> | undefined> {
    const response = await this.fetch(url.href, { headers: { accept: "application/json" } });
    if (response.status !== 200) return undefined;
    try {
      const value: unknown = await response.json();
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
      return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
    } catch {
      return undefined;
    }
  }

  #send(url: URL, { method = "GET", headers = {}, body }: OAuthRequest): Promise<IncomingMessage> {
    const { timeout = TIMEOUT } = this.#options;
    const isSecure = url.protocol === "https:";
    if (!isSecure && url.origin !== this.#options.server.origin) refuseInsecure(url);
    const rules = this.#rulesFor(url);
    if (rules !== undefined) refusePrivate(url, rules);
    const text = body === undefined ? undefined : String(body);
    const signal = AbortSignal.timeout(timeout);
    return new Promise((resolve, reject) => {
      const send = isSecure ? httpsRequest : httpRequest;
      const lookup = rules === undefined ? {} : { lookup: publicLookup(rules) };
      const length =
        text === undefined ? {} : { "content-length": String(Buffer.byteLength(text)) };
      const sent = { ...headers, ...length };
      const request = send(
        url,
        { method, headers: sent, signal, agent: false, ...lookup },
        resolve,
      );
      request.on("error", (error: Error & { code?: unknown }) => {
        if (error instanceof TrunklineError) reject(error);
        else
          reject(unreachable(url, signal.aborted ? `no answer within ${timeout / 1000} s` : error));
      });
      request.end(text);
    });
  }

  /** Undefined where any address may be reached. */
  #rulesFor(url: URL): PublicLookupOptions | undefined {
    const { server, trustsIssuer, resolve } = this.#options;
    if (trustsIssuer || url.origin === server.origin || isPrivateHost(server)) return undefined;
    return {
      resolve,
      refuse: (address) => {
        const leads = `its server leads us to ${url.origin}, which is ${address}, a private address`;
        const next = "If you trust it, set 'oauth.issuer' of the server to its issuer";
        return new TrunklineError("unavailable", `${leads}. ${next}`);
      },
    };
  }
}

/** Whether the host itself says that it is private. What a name resolves to may change at any time. */
function isPrivateHost(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return isLoopback(url) || (isIP(host) !== 0 && isPrivateAddress(host));
}

function refuseInsecure(url: URL): void {
  const isWeb = url.protocol === "http:";
  if (isWeb && isLoopback(url)) return;
  const why = isWeb ? "it is not encrypted" : "it is not the address of a web server";
  throw new TrunklineError("unavailable", `Cannot use ${url.origin} for a login: ${why}`);
}

function unreachable(url: URL, error: string | Error): TrunklineError {
  const why = typeof error === "string" ? error : error.message || String(error);
  return new TrunklineError("unavailable", `Cannot reach ${url.origin}: ${why}`);
}

async function bodyOf(url: URL, response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > LARGEST_ANSWER) throw new Error(`it answered more than ${LARGEST_ANSWER} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw unreachable(url, error as Error);
  }
  return Buffer.concat(chunks).toString("utf8");
}
