import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";

type Json = Readonly<Record<string, unknown>>;

/** An authorization server for tests: it signs tokens, and answers what is fetched from it. */
export class SampleIssuer {
  readonly issuer: string;
  readonly #keys: {
    readonly jwk: JWK;
    readonly sign: (claims: JWTPayload, header?: Json) => Promise<string>;
  }[] = [];
  /** What was fetched. */
  readonly fetched: string[] = [];
  isDown = false;
  metadata: Json;

  private constructor(issuer: string) {
    this.issuer = issuer;
    this.metadata = { issuer, jwks_uri: `${issuer}/keys` };
  }

  static async create(issuer = "https://login.example.com", alg = "ES256"): Promise<SampleIssuer> {
    const sample = new SampleIssuer(issuer);
    await sample.rotate(alg);
    return sample;
  }

  /** Signs with a new key from now on; the old one is gone. */
  async rotate(alg = "ES256"): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${crypto.randomUUID()}`;
    const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: "sig" };
    const sign = (claims: JWTPayload, header: Json = {}): Promise<string> =>
      new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
    this.#keys[0] = { jwk, sign };
  }

  get jwks(): { readonly keys: readonly JWK[] } {
    return { keys: this.#keys.map(({ jwk }) => jwk) };
  }

  /** A token that is good for an hour, but for what is said otherwise. */
  token(claims: JWTPayload, header?: Json): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: this.issuer, sub: "alice", iat: now, exp: now + 3600, ...claims };
    const [key] = this.#keys;
    if (key === undefined) throw new Error("The issuer has no key");
    return key.sign(all, header);
  }

  /** In the place of the network. */
  readonly fetch = async (url: string): Promise<Json> => {
    this.fetched.push(url);
    if (this.isDown) throw new Error("It is down");
    const found = this.answer(new URL(url).pathname);
    if (found === undefined) throw new Error(`${url} answered 404`);
    return found;
  };

  answer(path: string): Json | undefined {
    if (path === "/.well-known/oauth-authorization-server") return this.metadata;
    return path === "/keys" ? this.jwks : undefined;
  }
}

/** One that is really there, on a port of its own. */
export class AuthorizationServer implements AsyncDisposable {
  readonly issuer: SampleIssuer;
  readonly #server: Server;

  private constructor(issuer: SampleIssuer, server: Server) {
    this.issuer = issuer;
    this.#server = server;
  }

  static async start(alg = "RS256"): Promise<AuthorizationServer> {
    const server = createServer((call, response) => {
      const found = issuer.answer(call.url ?? "");
      response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(found ?? {}));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const issuer = await SampleIssuer.create(`http://127.0.0.1:${port}`, alg);
    return new AuthorizationServer(issuer, server);
  }

  /** Of a gateway at that address, which trusts it. */
  configuration(publicUrl: string, more: object = {}): object {
    const oauth = { authorizationServers: [this.issuer.issuer], ...more };
    return { serve: { publicUrl, oauth } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
