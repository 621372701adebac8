import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Packages } from "../../support/packages.ts";

export const packages = new Packages("test/interop/oauth");

interface Interaction {
  readonly prompt: { readonly name: string };
  readonly params: {
    readonly client_id: string;
    readonly scope?: string;
    readonly resource?: string;
  };
  readonly session?: { readonly accountId: string };
}

interface Grant {
  addOIDCScope(scope: string): void;
  addResourceScope(resource: string, scope: string): void;
  save(): Promise<string>;
}

/** The part of oidc-provider that is used. */
interface Provider {
  readonly Grant: new (of: { accountId: string; clientId: string }) => Grant;
  registerGrantType(
    name: string,
    handler: (context: never) => Promise<void>,
    params: readonly string[],
  ): void;
  readonly AccessToken: {
    new (of: object): { save(): Promise<string> };
    revokeByGrantId(id: string): Promise<void>;
    find(
      token: string,
    ): Promise<{ aud?: string; scope?: string; accountId?: string; grantId?: string } | undefined>;
  };
  readonly RefreshToken: { revokeByGrantId(id: string): Promise<void> };
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
  interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
  interactionFinished(
    request: IncomingMessage,
    response: ServerResponse,
    result: object,
  ): Promise<void>;
  on(event: string, listener: (...args: never[]) => void): void;
}

export interface IssuerOptions {
  /** Seconds that an access token is good for. */
  readonly lifetime?: number;
  /** Clients that are known without registration. */
  readonly clients?: readonly object[];
  /** Seconds that an ID token is good for. */
  readonly identityLifetime?: number;
  /** Further settings of oidc-provider. */
  readonly more?: object;
  /** Fetches the metadata documents of clients, which are known by these then. */
  readonly fetchDocument?: (url: string) => Promise<Response>;
}

/** oidc-provider on loopback, and a browser that logs in and agrees to everything. */
export class Issuer implements AsyncDisposable {
  readonly url: string;
  /** What it did: `grant.success` with the kind of the grant, `registration_create.success`. */
  readonly events: string[] = [];
  readonly provider: Provider;
  /** Who has no account any more. */
  readonly removed = new Set<string>();
  /** Who logs in. */
  account = "ada";
  readonly #server: ReturnType<typeof createServer>;

  private constructor(url: string, server: ReturnType<typeof createServer>, provider: Provider) {
    this.url = url;
    this.#server = server;
    this.provider = provider;
  }

  static async open(resource: string, options: IssuerOptions = {}): Promise<Issuer> {
    const { lifetime = 60, clients = [], fetchDocument, more, identityLifetime = 3600 } = options;
    const { default: Provider } = await packages.import<{
      default: new (issuer: string, configuration: object) => Provider;
    }>("oidc-provider/lib/index.js");
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const provider = new Provider(url, {
      clients,
      scopes: ["openid", "offline_access", "tools:read", "tools:write"],
      cookies: { keys: [randomUUID()] },
      pkce: { required: () => true },
      rotateRefreshToken: true,
      issueRefreshToken: async (_: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
        client.grantTypeAllowed("refresh_token"),
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      findAccount: (_: unknown, id: string) =>
        issuer.removed.has(id) ? undefined : { accountId: id, claims: () => ({ sub: id }) },
      ttl: { IdToken: identityLifetime },
      ...more,
      ...(fetchDocument === undefined
        ? {}
        : { fetch: (address: unknown) => fetchDocument(String(address)) }),
      features: {
        clientIdMetadataDocument: { enabled: fetchDocument !== undefined, ack: "draft-02" },
        devInteractions: { enabled: false },
        registration: { enabled: true, initialAccessToken: false },
        revocation: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => resource,
          useGrantedResource: () => true,
          getResourceServerInfo: (_: unknown, audience: string) => ({
            scope: "tools:read tools:write",
            audience,
            accessTokenTTL: lifetime,
            accessTokenFormat: "opaque",
          }),
        },
      },
    });
    const issuer = new Issuer(url, server, provider);
    for (const event of ["registration_create.success", "refresh_token.destroyed", "grant.error"]) {
      provider.on(event, () => issuer.events.push(event));
    }
    provider.on("grant.success", (context: { oidc: { params: { grant_type: string } } }) => {
      issuer.events.push(`grant ${context.oidc.params.grant_type}`);
    });
    const answer = provider.callback();
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      if (request.url?.startsWith("/interaction/") === true)
        void issuer.#interact(request, response);
      else answer(request, response);
    });
    return issuer;
  }

  /** Whose a token is. */
  async whose(token: string): Promise<string | undefined> {
    return (await this.provider.AccessToken.find(token))?.accountId;
  }

  /** Ends all that a person has granted, as they do in their account there. */
  async revoke(token: string): Promise<void> {
    const found = await this.provider.AccessToken.find(token);
    await this.provider.RefreshToken.revokeByGrantId(found?.grantId ?? "");
    await this.provider.AccessToken.revokeByGrantId(found?.grantId ?? "");
  }

  /** Whether a token is good for a resource, and its scopes. */
  async scopesOf(token: string, resource: string): Promise<string[] | undefined> {
    const found = await this.provider.AccessToken.find(token);
    const audience = Array.isArray(found?.aud) ? found.aud[0] : found?.aud;
    return found === undefined || audience !== resource
      ? undefined
      : (found.scope ?? "").split(" ");
  }

  /** Follows a login link as a browser does, and returns the address that it ends at, unvisited. */
  async browse(link: string): Promise<URL> {
    const cookies = new Map<string, string>();
    let at = new URL(link);
    for (let hops = 0; hops < 20; hops++) {
      if (at.pathname.endsWith("/callback")) return at;
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const response = await fetch(at, { redirect: "manual", headers: { cookie } });
      for (const set of response.headers.getSetCookie()) {
        const [pair = ""] = set.split(";");
        const [name = "", ...value] = pair.split("=");
        cookies.set(name, value.join("="));
      }
      const next = response.headers.get("location");
      if (next === null)
        throw new Error(`${at.href} answered ${response.status}: ${await response.text()}`);
      at = new URL(next, at);
    }
    throw new Error("The login does not end");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session } = await this.provider.interactionDetails(request, response);
    if (prompt.name === "login") {
      const login = { accountId: this.account };
      return this.provider.interactionFinished(request, response, { login });
    }
    const accountId = session?.accountId ?? "";
    const grant = new this.provider.Grant({ accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope ?? "");
    grant.addResourceScope(params.resource ?? "", params.scope ?? "");
    const grantId = await grant.save();
    return this.provider.interactionFinished(request, response, { consent: { grantId } });
  }
}
