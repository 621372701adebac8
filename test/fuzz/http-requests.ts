import type { SeededRandom } from "../support/seeded-random.ts";
import type { HostileLines } from "./hostile-lines.ts";

/** A request with what must be known of it to judge its response. */
export interface HttpRequest {
  readonly bytes: Buffer;
  readonly path: string;
  readonly method: string;
  /** The message that it carries, where that is JSON. */
  readonly message: unknown;
}

export interface HttpRequestsOptions {
  readonly random: SeededRandom;
  readonly lines: HostileLines;
  readonly host: string;
  /** Sent with most requests; some come without it, or with another. */
  readonly token: string | undefined;
  /** Sessions of clients that shook hands. */
  readonly sessions: readonly string[];
}

type Headers = [name: string, value: string][];

const OTHERS = [
  "GET /healthz",
  "GET /readyz",
  "GET /metrics",
  "GET /",
  "HEAD /healthz",
  "GET /nothing",
  "OPTIONS /mcp",
  "PUT /mcp",
  "PATCH /acp",
  "DELETE /mcp",
  "GET /mcp",
  "GET /acp",
  "DELETE /acp",
  "POST /messages",
  "POST /messages?sessionId=none",
  "POST /acp",
  "POST /healthz",
  "GET /../../etc/passwd",
  "GET /%2e%2e/%00",
  "GET /.well-known/oauth-protected-resource",
  "TRACE /",
  "QUERY /mcp",
];

const ACCEPTS = ["*/*", "application/json, text/event-stream", "text/html", "", "a/b;q=0, ,;"];

const ODD_HEADERS: Headers = [
  ["Origin", "http://evil.example"],
  ["Origin", "null"],
  ["Sec-Fetch-Site", "cross-site"],
  ["X-Forwarded-For", "1.2.3.4"],
  ["Content-Encoding", "gzip"],
  ["Content-Type", "text/plain"],
  ["Content-Type", "application/json; charset=utf-16"],
  ["Mcp-Session-Id", "__proto__"],
  ["Mcp-Session-Id", "\u00e9"],
  ["Mcp-Protocol-Version", "2019-01-01"],
  ["Mcp-Protocol-Version", "2026-07-28"],
  ["Mcp-Method", "ping"],
  ["Mcp-Name", "=?base64?!!?="],
  ["Last-Event-ID", "1_2_3"],
  ["Acp-Connection-Id", "none"],
  ["Acp-Session-Id", "none"],
  ["Expect", "100-continue"],
  ["Cookie", `a=${"b".repeat(4000)}`],
  ["Authorization", "Bearer none"],
  ["Authorization", "Basic Og=="],
];

/** Requests that HTTP allows, with bodies that mean little. */
export class HttpRequests {
  readonly #options: HttpRequestsOptions;

  constructor(options: HttpRequestsOptions) {
    this.#options = options;
  }

  next(): HttpRequest {
    const { random } = this.#options;
    return random.once(10) ? this.#other() : this.#message();
  }

  /** A message on /mcp, as a client of one revision or another sends it. */
  #message(): HttpRequest {
    const { random, lines, sessions } = this.#options;
    const body = lines.next();
    const message = parse(body);
    const headers: Headers = [
      ["Content-Type", "application/json"],
      ["Accept", "application/json, text/event-stream"],
    ];
    const isModern = /"io\.modelcontextprotocol\/protocolVersion"/.test(body.toString("latin1"));
    if (isModern) headers.push(...modernHeaders(message));
    else if (!random.once(20)) headers.push(["Mcp-Session-Id", random.pick(sessions)]);
    if (random.once(15)) headers.push(random.pick(ODD_HEADERS));
    return this.#request("POST", "/mcp", headers, body, message);
  }

  #other(): HttpRequest {
    const { random, lines } = this.#options;
    const [method = "", path = ""] = random.pick(OTHERS).split(" ");
    const headers: Headers = [["Accept", random.pick(ACCEPTS)]];
    for (let count = random.below(3); count > 0; count--) headers.push(random.pick(ODD_HEADERS));
    const body = method === "POST" ? lines.next() : Buffer.alloc(0);
    if (method === "POST") headers.push(["Content-Type", "application/json"]);
    return this.#request(method, path, headers, body, parse(body));
  }

  #request(
    method: string,
    path: string,
    headers: Headers,
    body: Buffer,
    message: unknown,
  ): HttpRequest {
    const { random, host, token } = this.#options;
    const all: Headers = [["Host", host], ...headers];
    if (token !== undefined && !random.once(50)) all.push(["Authorization", `Bearer ${token}`]);
    const isChunked = body.length > 0 && random.once(5);
    all.push(isChunked ? ["Transfer-Encoding", "chunked"] : ["Content-Length", `${body.length}`]);
    const head = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const bytes = Buffer.concat([
      Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n`, "latin1"),
      isChunked ? chunked(random, body) : body,
    ]);
    return { bytes, path, method, message };
  }
}

/** What 2026-07-28 wants repeated in headers. */
function modernHeaders(message: unknown): Headers {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: unknown };
  const headers: Headers = [["Mcp-Protocol-Version", "2026-07-28"]];
  if (typeof method === "string" && isPlain(method)) headers.push(["Mcp-Method", method]);
  const { name, uri, taskId } = (params ?? {}) as Record<string, unknown>;
  const named = [name, uri, taskId].find((value) => typeof value === "string" && isPlain(value));
  if (typeof named === "string") headers.push(["Mcp-Name", named]);
  return headers;
}

/** What a header can hold as it is. */
function isPlain(text: string): boolean {
  return /^[!-~]{1,300}$/.test(text);
}

function chunked(random: SeededRandom, body: Buffer): Buffer {
  const chunks = random.cut(body, 1 + random.below(body.length + 10)).flatMap((chunk) => {
    const extension = random.once(10) ? ";a=b" : "";
    return [
      Buffer.from(`${chunk.length.toString(16)}${extension}\r\n`),
      chunk,
      Buffer.from("\r\n"),
    ];
  });
  return Buffer.concat([...chunks, Buffer.from("0\r\n\r\n")]);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
