import type { IncomingMessage } from "node:http";

import {
  claimedRevision,
  modernHeaders,
  type HttpRequestBody,
  parameterHeaders,
  type ParameterHeaders,
} from "./http-headers.ts";

/** What later requests depend on: the session and the revision agreed on, and what tools want. */
export class HttpSession {
  readonly #configured: Readonly<Record<string, string>>;
  readonly #parameters = new Map<string, ParameterHeaders>();
  #id: string | undefined;
  #revision: string | undefined;

  constructor(configured: Readonly<Record<string, string>>) {
    this.#configured = configured;
  }

  get isOpen(): boolean {
    return this.#id !== undefined;
  }

  /** MCP 2025-11-25, basic/transports § Session Management: the headers of requests in a session. */
  headers(): Record<string, string> {
    return {
      ...this.#configured,
      ...(this.#id === undefined ? {} : { "mcp-session-id": this.#id }),
      ...(this.#revision === undefined ? {} : { "mcp-protocol-version": this.#revision }),
    };
  }

  /** The headers that a message is posted with. */
  headersFor(message: HttpRequestBody): Record<string, string> {
    const claimed = claimedRevision(message);
    const ofEra =
      claimed === undefined
        ? this.headers()
        : {
            ...this.#configured,
            ...modernHeaders(message, claimed, (tool) => this.#parameters.get(tool)),
          };
    return {
      ...ofEra,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    };
  }

  /** The answer to `initialize` has come, or its beginning. */
  opened({ headers }: IncomingMessage): void {
    const id = headers["mcp-session-id"];
    if (typeof id === "string") this.#id = id;
  }

  /** A request has its answer. */
  answered(method: string, result: Readonly<Record<string, unknown>> | undefined): void {
    if (method === "initialize" && typeof result?.protocolVersion === "string") {
      this.#revision = result.protocolVersion;
    }
  }

  /** Remembers which arguments of a tool are sent as headers. Whether it can be called that way. */
  learn({ name, inputSchema }: Readonly<Record<string, unknown>>): boolean {
    const headers = parameterHeaders(inputSchema);
    if (typeof name !== "string") return headers !== undefined;
    if (headers !== undefined && headers.size > 0) this.#parameters.set(name, headers);
    else this.#parameters.delete(name);
    return headers !== undefined;
  }
}
