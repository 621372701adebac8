import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { TestCa } from "../quic-certificates.ts";
import { ForgeRequests } from "./forge-requests.ts";

/** A token that the forge knows. */
export interface ForgeToken {
  readonly account: string;
  readonly scopes?: string;
  /** As the forge would say it. */
  readonly expires?: string;
}

export interface Seen {
  readonly account: string | undefined;
  readonly method: string;
  readonly path: string;
}

/**
 * What a forge has behind HTTPS: repositories by git's own `http-backend`, and the few calls of the
 * REST interfaces of forges that say whose a token is, and open requests. It keeps whom it has seen.
 */
export class ForgeServer implements AsyncDisposable {
  readonly url: string;
  readonly host: string;
  /** File of the authority to trust. */
  readonly caFile: string;
  readonly tokens = new Map<string, ForgeToken>();
  readonly seen: Seen[] = [];
  readonly requests = new ForgeRequests();
  readonly #server: Server;
  readonly #repositories: string;
  /** Has the interface take requests and answer none. */
  isSilent = false;

  private constructor(server: Server, repositories: string, caFile: string) {
    this.#server = server;
    this.#repositories = repositories;
    this.caFile = caFile;
    this.host = `localhost:${(server.address() as AddressInfo).port}`;
    this.url = `https://${this.host}`;
  }

  static async start(folder: string, repositories: string): Promise<ForgeServer> {
    const ca = await TestCa.make("P-256");
    const { cert, key } = await ca.issue("localhost");
    const caFile = join(folder, "ca.pem");
    writeFileSync(caFile, ca.pem);
    const server = createServer({ cert, key }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const forge = new ForgeServer(server, repositories, caFile);
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      forge.#serve(request, response);
    });
    return forge;
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { method = "GET", url = "/" } = request;
    const token = this.tokens.get(tokenOf(request));
    const { pathname } = new URL(url, this.url);
    this.seen.push({ account: token?.account, method, path: pathname });
    if (pathname.startsWith("/api/")) {
      if (this.isSilent) return;
      if (token !== undefined && /^\/api\/v\d\/(?:repos|projects)\//.test(pathname)) {
        void this.requests.answer(request, response);
      } else answer(response, pathname, token);
    } else if (token === undefined) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="rig"' }).end();
    } else this.#backend(request, response, token.account);
  }

  #backend(request: IncomingMessage, response: ServerResponse, account: string): void {
    const { pathname } = new URL(request.url ?? "/", this.url);
    const owner = pathname.split("/")[1] ?? "";
    if (owner !== account && owner !== "team") {
      response.writeHead(404).end("Repository not found\n");
      return;
    }
    serveGit(request, response, this.#repositories, account);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Answers a request with git's own `http-backend`. */
export function serveGit(
  request: IncomingMessage,
  response: ServerResponse,
  repositories: string,
  account: string,
): void {
  const { pathname, search } = new URL(request.url ?? "/", "http://localhost");
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: repositories,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
      HOME: repositories,
      RIG_ACCOUNT: account,
      REMOTE_USER: account,
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
    },
  });
  request.pipe(child.stdin);
  child.stdin.on("error", () => {});
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.on("close", () => {
    const all = Buffer.concat(chunks);
    const end = all.indexOf("\r\n\r\n");
    let status = 200;
    for (const line of all.subarray(0, end).toString("latin1").split("\r\n")) {
      const [name = "", value = ""] = line.split(": ");
      if (name === "Status") status = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.writeHead(status).end(all.subarray(end + 4));
  });
}

export function tokenOf({ headers }: IncomingMessage): string {
  const own = headers["private-token"];
  if (typeof own === "string") return own;
  const [kind = "", value = ""] = (headers.authorization ?? "").split(" ");
  if (kind.toLowerCase() !== "basic") return value;
  const text = Buffer.from(value, "base64").toString("utf8");
  return text.slice(text.indexOf(":") + 1);
}

function answer(response: ServerResponse, path: string, token: ForgeToken | undefined): void {
  const json = (status: number, body: object): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  if (token === undefined) {
    json(401, { message: "Bad credentials" });
    return;
  }
  const { account, scopes = "", expires } = token;
  switch (path) {
    case "/api/v3/user":
      response.setHeader("x-oauth-scopes", scopes);
      if (expires !== undefined) {
        response.setHeader("github-authentication-token-expiration", expires);
      }
      json(200, { login: account });
      break;
    case "/api/v4/user":
      json(200, { username: account });
      break;
    case "/api/v4/personal_access_tokens/self":
      json(200, { scopes: scopes.split(", "), expires_at: expires ?? null, active: true });
      break;
    default:
      json(404, { message: "Not Found" });
  }
}
