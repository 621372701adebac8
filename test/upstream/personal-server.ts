import { json, legacy, type Exchange, HttpServer } from "./http-server.ts";

/** An MCP server that knows people by their tokens, and shows each what is theirs alone. */
export class PersonalServer implements AsyncDisposable {
  readonly server: HttpServer;
  /** Who is behind a token. */
  readonly people = new Map<string, string>();
  /** Who has called, in order. */
  readonly calls: string[] = [];

  private constructor(server: HttpServer) {
    this.server = server;
  }

  static async open(issuer: string): Promise<PersonalServer> {
    const whose = ({ headers }: Exchange): string | undefined =>
      personal.people.get(headers.authorization?.replace(/^Bearer /, "") ?? "");
    const answer = legacy((exchange) => {
      const who = whose(exchange) ?? "";
      personal.calls.push(who);
      json(exchange, { content: [{ type: "text", text: `done for ${who}` }] });
    });
    const server = await HttpServer.open((exchange) => {
      const { message, path, response } = exchange;
      const who = whose(exchange);
      const link = { uri: `mail://${who}`, name: `Mail of ${who}` };
      if (path === "/.well-known/oauth-protected-resource/mcp") {
        const body = { resource: server.url.href, authorization_servers: [issuer] };
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
      } else if (who === undefined) {
        response.writeHead(401, { "www-authenticate": "Bearer" }).end();
      } else if (message["method"] === "initialize") {
        const capabilities = { tools: {}, resources: {}, prompts: {} };
        const result = { protocolVersion: "2025-11-25", capabilities, instructions: `For ${who}` };
        json(exchange, result, { "mcp-session-id": "s1" });
      } else if (message["method"] === "tools/list") {
        const description = `Works in the mailbox of ${who}`;
        const inputSchema = { type: "object" };
        const own = { name: `only_${who}`, description, inputSchema };
        json(exchange, { tools: [{ name: "work", inputSchema }, own] });
      } else if (message["method"] === "resources/list") json(exchange, { resources: [link] });
      else if (message["method"] === "resources/templates/list") {
        json(exchange, { resourceTemplates: [] });
      } else if (message["method"] === "prompts/list") {
        json(exchange, { prompts: [{ name: `prompt_of_${who}` }] });
      } else if (message["method"] === "resources/read") {
        json(exchange, { contents: [{ uri: link.uri, text: `secret of ${who}` }] });
      } else answer(exchange);
    });
    const personal = new PersonalServer(server);
    return personal;
  }

  get url(): string {
    return this.server.url.href;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}
