import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/**
 * A small authorization server over real HTTP, for what a good one does not do: wrong metadata, lost
 * answers, another `iss`. It agrees to everything. `test/interop/oauth-login.test.ts` has a real one.
 */
export class SmallIssuer implements AsyncDisposable {
  /** The metadata as it is served; a test changes it. */
  metadata: Record<string, unknown> = {};
  /** What further paths serve as JSON. */
  readonly documents = new Map<string, unknown>();
  /** `METHOD path` of all requests. */
  readonly requests: string[] = [];
  /** The form of each request for tokens. */
  readonly grants: URLSearchParams[] = [];
  readonly registered: Record<string, unknown>[] = [];
  readonly revoked: string[] = [];
  /** Told of each access token before it is given. */
  given: (token: string) => void = () => {};
  /** What it answers a request for tokens with, in place of tokens of its own. */
  answer: ((form: URLSearchParams) => Promise<object>) | undefined;
  /** Resolved before a request for tokens is answered. */
  hold: Promise<unknown> = Promise.resolve();
  /** Resolved before the metadata are served. */
  slow: Promise<unknown> = Promise.resolve();
  /** Added to the address that the browser is sent back to. */
  extra: Record<string, string> = {};
  readonly #codes = new Map<string, URLSearchParams>();
  readonly #refresh = new Set<string>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        response.writeHead(500).end(String(error));
      });
    });
  }

  static async open(): Promise<SmallIssuer> {
    const issuer = new SmallIssuer();
    issuer.#server.listen(0, "127.0.0.1");
    await once(issuer.#server, "listening");
    const { url } = issuer;
    issuer.metadata = {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      registration_endpoint: `${url}/register`,
      revocation_endpoint: `${url}/revoke`,
      code_challenge_methods_supported: ["S256"],
    };
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A refresh token that was given before. */
  giveRefreshToken(): string {
    const token = randomUUID();
    this.#refresh.add(token);
    return token;
  }

  /** Opens a login link, and returns the address that the browser is sent back to, unvisited. */
  async browse(link: string): Promise<URL> {
    const response = await fetch(link, { redirect: "manual" });
    return new URL(response.headers.get("location") ?? "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const at = new URL(url, this.url);
    this.requests.push(`${method} ${at.pathname}`);
    const body = await text(request);
    const json = (status: number, value: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (this.documents.has(at.pathname)) json(200, this.documents.get(at.pathname));
    else if (at.pathname === "/.well-known/oauth-authorization-server") {
      await this.slow;
      json(200, this.metadata);
    } else if (at.pathname === "/authorize") this.#authorize(at.searchParams, response);
    else if (at.pathname === "/register") {
      const client = JSON.parse(body) as Record<string, unknown>;
      this.registered.push(client);
      json(201, { ...client, client_id: `client-${this.registered.length}` });
    } else if (at.pathname === "/revoke") {
      this.revoked.push(new URLSearchParams(body).get("token") ?? "");
      response.writeHead(200).end();
    } else if (at.pathname === "/token") {
      const form = new URLSearchParams(body);
      this.grants.push(form);
      const isGood = form.has("assertion") || this.#take(form);
      await this.hold;
      if (this.answer !== undefined) return json(200, await this.answer(form));
      if (!isGood) json(400, { error: "invalid_grant", error_description: "it was used before" });
      else {
        const refresh_token = this.giveRefreshToken();
        const access_token = `at-${this.grants.length}-${randomUUID()}`;
        this.given(access_token);
        json(200, { access_token, refresh_token, token_type: "Bearer", expires_in: 3600 });
      }
    } else response.writeHead(404).end();
  }

  #authorize(params: URLSearchParams, response: ServerResponse): void {
    const code = randomUUID();
    this.#codes.set(code, params);
    const back = new URL(params.get("redirect_uri") ?? "");
    const answer = { code, state: params.get("state") ?? "", ...this.extra };
    for (const [name, value] of Object.entries(answer)) back.searchParams.set(name, value);
    response.writeHead(302, { location: back.href }).end();
  }

  /** Codes and refresh tokens are good for one use. */
  #take(form: URLSearchParams): boolean {
    if (form.has("subject_token")) return form.get("subject_token") !== "wrong";
    if (form.get("grant_type") === "refresh_token") {
      return this.#refresh.delete(form.get("refresh_token") ?? "");
    }
    const code = form.get("code") ?? "";
    const params = this.#codes.get(code);
    this.#codes.delete(code);
    const hash = createHash("sha256").update(form.get("code_verifier") ?? "");
    const isProven = hash.digest("base64url") === params?.get("code_challenge");
    return isProven && form.get("redirect_uri") === params.get("redirect_uri");
  }
}
