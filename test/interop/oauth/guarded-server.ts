import { json, legacy, type Exchange, HttpServer } from "../../upstream/http-server.ts";
import type { Issuer } from "./issuer.ts";

/** An MCP server that wants a token of an issuer, made for it, as the specification says. */
export class GuardedServer implements AsyncDisposable {
  readonly server: HttpServer;
  issuer: Issuer | undefined;
  /** The scope that a call of its tool takes. */
  scope = "tools:read";
  /** The tokens that it was called with. */
  readonly tokens: string[] = [];

  private constructor(server: HttpServer) {
    this.server = server;
  }

  static async open(): Promise<GuardedServer> {
    const answer = legacy((exchange) => {
      json(exchange, { content: [{ type: "text", text: "done" }] });
    });
    const server = await HttpServer.open((exchange) => {
      if (exchange.message["method"] !== "tools/list") answer(exchange);
      else json(exchange, { tools: [{ name: "work", inputSchema: { type: "object" } }] });
    });
    const guarded = new GuardedServer(server);
    server.answer = (exchange) => {
      guarded.#check(exchange).then(
        (isGood) => isGood && server.handle(exchange),
        (error: unknown) => exchange.response.writeHead(500).end(String(error)),
      );
      return true;
    };
    return guarded;
  }

  get url(): string {
    return this.server.url.href;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }

  async #check({ path, message, headers, response }: Exchange): Promise<boolean> {
    const { origin } = this.server.url;
    if (path === "/.well-known/oauth-protected-resource/mcp") {
      const body = {
        resource: this.url,
        authorization_servers: [this.issuer?.url],
        scopes_supported: ["tools:read"],
      };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
      return false;
    }
    const token = headers.authorization?.replace(/^Bearer /, "");
    const scopes = token === undefined ? undefined : await this.issuer?.scopesOf(token, this.url);
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    if (token === undefined || scopes === undefined) {
      response.writeHead(401, { "www-authenticate": `Bearer ${metadata}` }).end();
      return false;
    }
    if (message["method"] === "tools/call" && !scopes.includes(this.scope)) {
      const challenge = `Bearer error="insufficient_scope", scope="${this.scope}", ${metadata}`;
      response.writeHead(403, { "www-authenticate": challenge }).end();
      return false;
    }
    this.tokens.push(token);
    return true;
  }
}
