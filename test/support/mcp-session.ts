import { type Answer, BOTH_TYPES, EventReader, type McpHttpServer } from "./mcp-http-server.ts";

/** A client of an earlier revision, by hand. */
export class McpSession {
  readonly id: string;
  readonly #server: McpHttpServer;

  private constructor(server: McpHttpServer, id: string) {
    this.#server = server;
    this.id = id;
  }

  static async begin(server: McpHttpServer, protocolVersion = "2025-11-25"): Promise<McpSession> {
    const answer = await server.post(initialize(protocolVersion));
    const id = answer.headers.get("mcp-session-id");
    if (answer.body.result?.protocolVersion !== protocolVersion || id === null) {
      throw new Error(`No session: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    const session = new McpSession(server, id);
    await session.post({ jsonrpc: "2.0", method: "notifications/initialized" });
    return session;
  }

  get headers(): Record<string, string> {
    return { "mcp-session-id": this.id };
  }

  post(body: unknown): Promise<Answer> {
    return this.#server.post(body, this.headers);
  }

  call(id: unknown, name: string, args: object = {}, _meta: object = {}): Promise<Answer> {
    return this.post(callTool(id, name, args, _meta));
  }

  /** Calls a tool that is answered with events. */
  async stream(
    id: unknown,
    name: string,
    args: object = {},
    _meta: object = {},
  ): Promise<EventReader> {
    const headers = { ...BOTH_TYPES, ...this.headers };
    const body = callTool(id, name, args, _meta);
    return new EventReader(await this.#server.fetch("POST", headers, body));
  }

  get(lastEventId?: string): Promise<Response> {
    const resume = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const headers = { accept: "text/event-stream", ...this.headers, ...resume };
    return this.#server.fetch("GET", headers);
  }

  async listen(lastEventId?: string): Promise<EventReader> {
    const response = await this.get(lastEventId);
    if (response.status !== 200) throw new Error(`No stream: ${response.status}`);
    return new EventReader(response);
  }

  delete(): Promise<Response> {
    return this.#server.fetch("DELETE", this.headers);
  }
}

export function initialize(protocolVersion = "2025-11-25"): object {
  const capabilities = { elicitation: {}, sampling: {} };
  const clientInfo = { name: "by hand", version: "1" };
  return request(0, "initialize", { protocolVersion, capabilities, clientInfo });
}

export function request(id: unknown, method: string, params: object = {}): object {
  return { jsonrpc: "2.0", id, method, params };
}

export function callTool(id: unknown, name: string, args: object = {}, _meta: object = {}): object {
  return request(id, "tools/call", { name, arguments: args, _meta });
}
