import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import type { Program } from "../support/program.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { brokenRequest } from "./broken-http.ts";
import { HostileLines } from "./hostile-lines.ts";
import { type HttpRequest, HttpRequests } from "./http-requests.ts";
import { patiently } from "./patiently.ts";
import { RawHttp, type RawResponse } from "./raw-http.ts";
import { mcpVocabulary } from "./vocabulary-mcp.ts";

const CONNECTIONS = 8;
/**
 * Milliseconds that a connection may be idle before it is replaced. The server closes it after sixty
 * seconds, and a request that is on its way then is lost (RFC 9112, 9.5).
 */
const KEEP_ALIVE = 30_000;

/** What `trunkline serve --json` says first. */
export interface Ready {
  readonly url: string;
  readonly tokenFile?: string;
}

export async function readyLine(program: Program): Promise<Ready> {
  await program.until(({ lines }) => lines.length > 0);
  return JSON.parse(program.lines[0] ?? "") as Ready;
}

/** The owner's token, where the program wants one. */
export function tokenOf({ tokenFile }: Ready): string | undefined {
  return tokenFile === undefined ? undefined : readFileSync(tokenFile, "utf8").trim();
}

/** Speaks HTTP with a program, and knows what may come back. */
export class HttpFuzzer {
  readonly #random: SeededRandom;
  readonly #url: URL;
  readonly #requests: HttpRequests;
  readonly #token: string | undefined;
  readonly statuses = new Map<number, number>();
  /** Connections that were broken on purpose. */
  broken = 0;

  private constructor(
    random: SeededRandom,
    url: URL,
    token: string | undefined,
    sessions: string[],
  ) {
    const vocabulary = mcpVocabulary({ hasLasting: false });
    const lines = new HostileLines(random, vocabulary);
    this.#random = random;
    this.#url = url;
    this.#token = token;
    this.#requests = new HttpRequests({ random, lines, host: url.host, token, sessions });
  }

  static async open(random: SeededRandom, ready: Ready): Promise<HttpFuzzer> {
    const url = new URL(ready.url);
    const token = tokenOf(ready);
    const sessions = await Promise.all(
      ["2025-11-25", "2025-03-26"].map((revision) => shakeHands(url, token, revision)),
    );
    return new HttpFuzzer(random, url, token, sessions);
  }

  /** Sends so many requests, several connections at a time. */
  async send(count: number): Promise<void> {
    let left = count;
    const work = async (): Promise<void> => {
      let connection = this.#connect();
      while (left > 0) {
        const isUnusable = connection.isClosing || connection.isClosed;
        if (isUnusable || connection.idle > KEEP_ALIVE || this.#random.once(200)) {
          connection[Symbol.dispose]();
          connection = this.#connect();
        }
        if (this.#random.once(8)) {
          left--;
          await this.#break();
        } else {
          const pipelined = Math.min(left, 1 + this.#random.below(20));
          left -= pipelined;
          await this.#ask(connection, pipelined);
        }
      }
      connection[Symbol.dispose]();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, work));
  }

  /** That somebody who does nothing wrong is served. */
  async probe(): Promise<void> {
    using connection = this.#connect();
    const health = `GET /healthz HTTP/1.1\r\nHost: ${this.#url.host}\r\n\r\n`;
    const response = await patiently(() => "the probe", connection.ask(Buffer.from(health)));
    assert.equal(response === "lost" ? response : response.status, 200);
    await shakeHands(this.#url, this.#token, "2025-06-18");
  }

  #connect(): RawHttp {
    return new RawHttp(Number(this.#url.port), this.#url.hostname);
  }

  async #ask(connection: RawHttp, count: number): Promise<void> {
    const sent = Array.from({ length: count }, () => this.#requests.next());
    const { idle } = connection;
    const asked = sent.map(({ bytes, method }) => connection.ask(bytes, method === "HEAD"));
    const all = await patiently(() => sent.map(summary).join("\n\n"), Promise.all(asked));
    for (const [index, response] of all.entries()) {
      // After one that closes the connection, the others were not read.
      if (response === "lost" && connection.isClosing) return;
      const request = summary(sent[index]!);
      if (response === "lost") {
        const when = `request ${index} of ${count} on a connection that was idle for ${idle} ms`;
        assert.fail(`${request}\nThe connection was closed without a response: ${when}`);
      }
      const problem = this.#problem(sent[index]!, response);
      if (problem !== undefined) assert.fail(`${request}\n${problem}`);
    }
    assert.equal(connection.problem, undefined);
  }

  /** What is wrong with a response, if anything is. */
  #problem(request: HttpRequest, response: RawResponse): string | undefined {
    const { status, headers, body } = response;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    if (status >= 500 && status !== 503) return `${status} ${body}`;
    if (request.path !== "/mcp" || request.method !== "POST" || status === 202) return undefined;
    // A batch has as many answers as it has requests.
    if (Array.isArray(request.message)) return undefined;
    const answers = headers.get("content-type")?.startsWith("text/event-stream")
      ? body.split("\n").filter((line) => line.startsWith("data: {"))
      : [body];
    if (answers.includes("")) return `${status} without a body: ${JSON.stringify([...headers])}`;
    const ids = answers.flatMap((answer) => idsIn(answer.replace(/^data: /, "")));
    const [id, ...more] = ids;
    const isRight = id === idOf(request.message) || (status !== 200 && id === null);
    return isRight && more.length === 0 ? undefined : `${status} ${body.slice(0, 500)}`;
  }

  /** Breaks the rules on a connection of its own. It must be answered or closed, or be hung up on. */
  async #break(): Promise<void> {
    this.broken++;
    const { bytes, leaving } = brokenRequest(this.#random, this.#url.host);
    using connection = this.#connect();
    const response = connection.ask(bytes);
    if (leaving === "hang up") return;
    connection.end();
    const found = await patiently(() => `broken: ${bytes.toString("latin1")}`, response);
    if (found !== "lost") assert.ok(found.status < 500, `${found.status}: ${bytes.toString()}`);
  }
}

/** Begins a session, and returns its id. */
async function shakeHands(url: URL, token: string | undefined, revision: string): Promise<string> {
  const params = {
    protocolVersion: revision,
    capabilities: {},
    clientInfo: { name: "f", version: "1" },
  };
  const response = await fetch(new URL("/mcp", url), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      connection: "close",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
  assert.equal(response.status, 200, await response.text());
  return response.headers.get("mcp-session-id") ?? "";
}

function summary({ bytes }: HttpRequest): string {
  return bytes.toString("latin1").slice(0, 600);
}

function idsIn(text: string): unknown[] {
  const answer = JSON.parse(text) as { id?: unknown; method?: unknown } | { id?: unknown }[];
  if (Array.isArray(answer)) return answer.map(idOf);
  return answer.method === undefined ? [idOf(answer)] : [];
}

/** The id of a message. One that is none, or that no number can hold, counts as null. */
function idOf(message: unknown): unknown {
  const { id } = (message ?? {}) as { id?: unknown };
  return typeof id === "string" || Number.isFinite(id) ? id : null;
}
