import { ask, lookupAmong } from "../base/public-lookup.ts";
import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from "node:http";

import { boundedBody } from "../base/bounded-body.ts";
import { TrunklineError } from "../base/errors.ts";
import { HELD } from "../base/text/mask.ts";
import { visibleLine } from "../base/text/visible.ts";
import { parsedJson } from "../base/check.ts";

export interface ForgeHttpOptions {
  /** The base URL of the API, without a slash at the end. */
  readonly api: string;
  /** Headers of every call. They contain the token. */
  readonly headers: Readonly<Record<string, string>>;
  /** The addresses of its host. Throws if it may not be reached. */
  readonly addresses: () => Promise<readonly string[]>;
  /** Stops all calls. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for each call. */
  readonly timeout?: number | undefined;
}

export type Json = Readonly<Record<string, unknown>>;

const TIMEOUT = 15_000;
const MAX_ANSWER = 4 * 1024 * 1024;
const LONGEST_WORDS = 300;
const MOST_PAGES = 100;

interface ForgeAnswer {
  readonly answer: unknown;
  readonly link: string;
}

/** The forge refused a request. */
export class ForgeRefusal extends TrunklineError {
  readonly status: number;

  constructor(status: number, message: string) {
    super("unavailable", message);
    this.status = status;
  }
}

/**
 * Calls the API of a forge, at the checked addresses only. Redirects are not followed, because they would
 * send the token to another host.
 */
export class ForgeHttp {
  readonly #options: ForgeHttpOptions;

  constructor(options: ForgeHttpOptions) {
    this.#options = options;
  }

  /** Undefined if the forge answers 404. */
  async find(path: string): Promise<unknown> {
    try {
      return await this.call("GET", path);
    } catch (error) {
      if (error instanceof ForgeRefusal && error.status === 404) return undefined;
      throw error;
    }
  }

  /** The answer of a successful call. Throws `ForgeRefusal` for other statuses. */
  async call(
    method: "GET" | "POST" | "PATCH" | "PUT",
    path: string,
    body?: Json,
  ): Promise<unknown> {
    return (await this.#ask(method, new URL(`${this.#options.api}${path}`), body)).answer;
  }

  /** All items of a list that comes in pages, by its `Link` header (RFC 8288). */
  async list(path: string, mostPages = MOST_PAGES): Promise<unknown[]> {
    const items: unknown[] = [];
    let url: URL | undefined = new URL(`${this.#options.api}${path}`);
    for (let page = 1; url !== undefined; page++) {
      if (page > mostPages) {
        const says = `${url.host} has more than ${mostPages} pages of '${path.split("?")[0]}'.`;
        throw new TrunklineError("limit", says);
      }
      const { answer, link }: ForgeAnswer = await this.#ask("GET", url);
      if (!Array.isArray(answer)) {
        throw new TrunklineError("unavailable", `${url.host} answered with no list.`);
      }
      // One by one: an answer may have more than a call can have arguments.
      for (const item of answer as unknown[]) items.push(item);
      url = this.#nextPage(link, url);
    }
    return items;
  }

  /** The token is sent only to the forge's own API, so the next page must be there. */
  #nextPage(link: string, from: URL): URL | undefined {
    const [, next] = /<([^<>]+)>\s*;[^,]*\brel="?next"?/.exec(link) ?? [];
    if (next === undefined) return undefined;
    const url = URL.parse(next, from);
    const { origin, pathname } = new URL(this.#options.api);
    const below = pathname.endsWith("/") ? pathname : `${pathname}/`;
    if (url?.origin === origin && url.pathname.startsWith(below)) return url;
    const says = `${from.host} names a next page at another address, which Trunkline does not call.`;
    throw new TrunklineError("untrusted", says);
  }

  async #ask(method: string, url: URL, body?: Json): Promise<ForgeAnswer> {
    const { status, text, headers } = await this.#exchange(method, url, body);
    const answer = parsedJson(text);
    if (status < 200 || status > 299) {
      throw refusal(url.host, status, wordsOf(answer), limitWords(status, headers));
    }
    if (answer !== undefined) return { answer, link: String(headers.link ?? "") };
    throw new TrunklineError("unavailable", `${url.host} answered with something other than JSON.`);
  }

  async #addresses(host: string): Promise<readonly string[]> {
    try {
      return await this.#options.addresses();
    } catch (cause) {
      if (cause instanceof TrunklineError) throw cause;
      throw new TrunklineError("unavailable", `Cannot find ${host}: ${messageOf(cause)}.`, {
        cause,
      });
    }
  }

  async #exchange(
    method: string,
    url: URL,
    body: Json | undefined,
  ): Promise<{ status: number; text: string; headers: IncomingHttpHeaders }> {
    const { headers, timeout = TIMEOUT, signal } = this.#options;
    const limit = AbortSignal.timeout(timeout);
    const addresses = await this.#addresses(url.host);
    const sent = body === undefined ? undefined : Buffer.from(HELD.mask(JSON.stringify(body)));
    const options: RequestOptions = {
      method,
      headers: {
        accept: "application/json",
        "user-agent": "trunkline",
        ...(sent === undefined
          ? {}
          : { "content-type": "application/json", "content-length": sent.length }),
        ...headers,
      },
      lookup: lookupAmong(addresses),
      // A new connection, which ends with the call.
      agent: false,
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    };
    try {
      const answer = await ask(url, options, sent);
      const { statusCode: status = 0, headers: told } = answer;
      return { status, text: await textOf(answer), headers: told };
    } catch (cause) {
      const why = limit.aborted
        ? `it did not answer within ${timeout} ms`
        : signal?.aborted === true
          ? "there was no time left"
          : messageOf(cause);
      throw new TrunklineError("unavailable", `Cannot ask ${url.host}: ${why}.`, { cause });
    }
  }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const { body, isCut } = await boundedBody(answer, MAX_ANSWER);
  if (isCut) throw new Error(`it answered with more than ${MAX_ANSWER} bytes`);
  return body.toString("utf8");
}

/** The error for a status, with the message of the forge and what to do next. */
function refusal(host: string, status: number, words: string, limit: string): ForgeRefusal {
  const says = words === "" ? "" : `: ${words}`;
  return new ForgeRefusal(status, `${host} answered ${status}${says}.${limit || next(status)}`);
}

/** GitHub and GitLab tell when a limit ends; GitHub answers 403 or 429, GitLab 429. */
function limitWords(status: number, headers: IncomingHttpHeaders): string {
  if (status !== 403 && status !== 429) return "";
  const { "retry-after": after } = headers;
  if (after !== undefined) return ` It limits requests: try again in ${after} seconds.`;
  const left = headers["x-ratelimit-remaining"] ?? headers["ratelimit-remaining"];
  const reset = Number(headers["x-ratelimit-reset"] ?? headers["ratelimit-reset"]);
  if (left !== "0" && status !== 429) return "";
  const when = Number.isFinite(reset) ? new Date(reset * 1000).toISOString() : "later";
  return ` It limits requests: try again ${when === "later" ? when : `after ${when}`}.`;
}

function next(status: number): string {
  if (status >= 300 && status < 400) return " The repository has moved: use its new address.";
  if (status === 401)
    return " The token is not accepted: set a new one with `trunkline identity token set NAME`.";
  if (status === 403) return " The token needs the right to write pull requests.";
  if (status === 404) return " The repository does not exist, or the token may not read it.";
  return "";
}

/**
 * GitHub has `message` and `errors[].message`, GitLab `message` (text, list, or lists by field) or
 * `error`, Gitea `message`.
 */
function wordsOf(answer: unknown): string {
  const { message, error, errors } = (answer ?? {}) as Json;
  const all = [...texts(message), ...texts(error), ...texts(errors)].join(" – ");
  const line = visibleLine(all).replace(/(?<![.\s])[.\s]+$/, "");
  return line.length > LONGEST_WORDS ? `${line.slice(0, LONGEST_WORDS)}…` : line;
}

function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(texts);
  if (typeof value !== "object" || value === null) return [];
  const { message } = value as Json;
  return message === undefined ? Object.values(value).flatMap(texts) : texts(message);
}

/** The URL of a page from an answer; empty if it is not a web address. */
export function webPage(value: unknown): string {
  const url = typeof value === "string" ? URL.parse(value) : null;
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : "";
}

function messageOf(error: unknown): string {
  const { message, cause } = error as Error;
  return (cause instanceof Error ? cause.message : message).replace(/\.$/, "");
}
