import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AuthorizationServer } from "oauth4webapi";
import { defined } from "../../base/defined.ts";
import { TrunklineError } from "../../base/errors.ts";
import { isLoopback } from "../../base/private-address.ts";
import { untilAborted } from "../../base/abort.ts";
import type { OAuthSettings } from "../../config/schema/schema.gen.ts";
import {
  bearerChallenge,
  discover,
  type LoginEndpoint,
  issuerMetadata,
  mustHavePkce,
  unionOf,
} from "./discovery.ts";
import type { ClientMethod, Login, OAuthClient } from "./login-tokens.ts";
import {
  clientAuth,
  configuredClient,
  loadOAuth,
  issuerFault,
  methodWithSecret,
  type OAuthHttp,
  requestOptions,
  withoutIdToken,
  withTokens,
} from "./oauth-http.ts";

const HOST = "127.0.0.1";
const PATH = "/callback";

/** The callback address of a login, to which the browser returns. */
export interface LoginCallback extends AsyncDisposable {
  readonly redirectUri: string;
  /** The parameters with which the authorization server has sent the browser back. */
  readonly came: Promise<URLSearchParams>;
  /** Takes an address that a person has copied from a browser. False if it belongs to another login. */
  paste?(text: string): boolean;
}

/**
 * The address that the browser comes back to after a login. Only what carries the secret `state` of this
 * login counts: other web pages and programs can reach the port, too.
 */
export class Callback implements LoginCallback {
  readonly #server: Server;
  readonly #state: string;
  readonly #came = Promise.withResolvers<URLSearchParams>();
  #redirectUri = "";

  private constructor(state: string) {
    this.#state = state;
    this.#server = createServer((request, response) => {
      const { method, url = "", headers } = request;
      const target = URL.parse(url, this.#redirectUri);
      const isOurs =
        `http://${headers.host}${PATH}` === this.#redirectUri && target?.pathname === PATH;
      if (!isOurs) answer(response, 404, "There is nothing here.");
      else if (method !== "GET") answer(response, 405, "There is nothing here.");
      else if (this.#take(target))
        answer(response, 200, "You can close this page and go back to Trunkline.");
      else
        answer(
          response,
          400,
          "This is not the login that Trunkline waits for. Start it again there.",
        );
    });
  }

  /** Listens on the port, or on any free one. */
  static async open(state: string, port = 0): Promise<Callback> {
    const callback = new Callback(state);
    const server = callback.#server.listen(port, HOST);
    try {
      await once(server, "listening");
    } catch (error) {
      const why = (error as Error).message;
      throw new TrunklineError("unavailable", `Cannot wait for the browser: ${why}`);
    }
    callback.#redirectUri = `http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`;
    return callback;
  }

  get redirectUri(): string {
    return this.#redirectUri;
  }

  get came(): Promise<URLSearchParams> {
    return this.#came.promise;
  }

  paste(text: string): boolean {
    const url = URL.parse(text.trim());
    return url !== null && url.href.startsWith(this.#redirectUri) && this.#take(url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    // The answer to the browser may be under way; its connection is not kept.
    this.#server.closeIdleConnections();
    await closed;
  }

  #take({ searchParams }: URL): boolean {
    const said = Buffer.from(searchParams.get("state") ?? "");
    const expected = Buffer.from(this.#state);
    if (said.length !== expected.length || !timingSafeEqual(said, expected)) return false;
    this.#came.resolve(searchParams);
    return true;
  }
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'",
    "cache-control": "no-store",
    // The address has the code of the login.
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  response.end(`<!doctype html><title>Trunkline</title><p>${text}</p>`);
}

/**
 * Our client registration at an authorization server. MCP 2025-11-25, basic/authorization § Client
 * Registration Approaches: configured, then a metadata document, then dynamic registration.
 */
export async function clientFor(
  issuer: AuthorizationServer,
  settings: OAuthSettings,
  redirectUri: string,
  http: OAuthHttp,
): Promise<OAuthClient> {
  const { clientId, clientMetadataUrl } = settings;
  if (clientId !== undefined) {
    // Otherwise the MCP server chooses who gets the secret, and the code of a login somewhere else.
    if (settings.issuer === undefined) throw needsIssuer(issuer);
    return configuredClient(issuer, settings);
  }
  const takesDocument = issuer.client_id_metadata_document_supported === true;
  if (clientMetadataUrl !== undefined && takesDocument) {
    return { id: clientMetadataUrl, method: "none" };
  }
  if (issuer.registration_endpoint !== undefined) return register(issuer, redirectUri, http);
  const needed = `register Trunkline there, and set 'oauth.clientId' of the server`;
  const says = `${issuer.issuer} does not know Trunkline, and has no dynamic registration`;
  throw new TrunklineError("config", `${says}: ${needed}`);
}

function needsIssuer({ issuer }: AuthorizationServer): TrunklineError {
  const why = "'oauth.clientId' is for the issuer that you registered Trunkline with";
  const next = `Set 'oauth.issuer' of the server, to ${issuer} if it is that one`;
  return new TrunklineError("config", `${why}, and nothing says which that is. ${next}`);
}

/** RFC 7591. The client is registered anew for each login, with the very address that is listened on. */
async function register(
  issuer: AuthorizationServer,
  redirectUri: string,
  http: OAuthHttp,
): Promise<OAuthClient> {
  const { dynamicClientRegistrationRequest, processDynamicClientRegistrationResponse } =
    await loadOAuth();
  const { token_endpoint_auth_methods_supported: methods } = issuer;
  const isPublic = methods === undefined || methods.includes("none");
  const metadata = {
    client_name: "Trunkline",
    // OpenID Connect Dynamic Client Registration, section 2.
    application_type: isLoopback(new URL(redirectUri)) ? "native" : "web",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: isPublic ? "none" : methodWithSecret(issuer),
  };
  try {
    const options = await requestOptions(http);
    const response = await dynamicClientRegistrationRequest(issuer, metadata, options);
    const answer = await processDynamicClientRegistrationResponse(await created(response));
    const { client_id, client_secret, token_endpoint_auth_method: method } = answer;
    if (typeof client_secret !== "string") return { id: client_id, method: "none" };
    const used = method === undefined ? methodWithSecret(issuer) : (method as ClientMethod);
    return { id: client_id, secret: client_secret, method: used };
  } catch (error) {
    throw issuerFault(issuer.issuer, "does not register Trunkline", error);
  }
}

/** Some answer 200 where RFC 7591, section 3.2.1, wants 201. */
async function created(response: Response): Promise<Response> {
  if (response.status !== 200) return response;
  return new Response(await response.text(), { status: 201, headers: response.headers });
}

export interface LogInOptions {
  readonly server: URL;
  readonly settings: OAuthSettings;
  /** Whether it is the identity provider that is logged in at, to know who the person is. */
  readonly isIdentity?: boolean;
  /** The headers that the server gets with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Scopes that it has asked for before. */
  readonly wanted: readonly string[];
  /** Where the browser comes back to, with this secret; a port of this machine when left out. */
  readonly comeback?: ((state: string) => LoginCallback) | undefined;
  readonly http: OAuthHttp;
  readonly signal: AbortSignal;
  /** Shows the link to a person. `paste` takes the address that the browser ended at. */
  readonly show: (login: {
    readonly issuer: string;
    readonly link: string;
    readonly paste: (text: string) => boolean;
  }) => void;
}

/** Logs a person in to an MCP server, in a browser, with an authorization code. */
export async function logIn(options: LogInOptions): Promise<Login> {
  const { server, settings, http, isIdentity } = options;
  if (isIdentity === true) {
    const issuer = await issuerMetadata(settings.issuer ?? server.href, http);
    return logInAt({ issuer, resource: "", scopes: ["openid"] }, options);
  }
  const challenge = await challengeOf(options);
  return logInAt(await discover(server, challenge, http, settings.issuer), options);
}

/** The same at an issuer that is known. */
export async function logInAt(
  { issuer, resource, scopes }: LoginEndpoint,
  options: LogInOptions,
): Promise<Login> {
  const { server, settings, http, signal, isIdentity = false } = options;
  mustHavePkce(issuer);
  const oauth = await loadOAuth();
  const nonce = oauth.generateRandomNonce();
  const state = oauth.generateRandomState();
  const verifier = oauth.generateRandomCodeVerifier();
  await using callback =
    options.comeback?.(state) ?? (await Callback.open(state, settings.callbackPort));
  const { redirectUri } = callback;
  const client = await clientFor(issuer, settings, redirectUri, http);
  const asked = unionOf(settings.scopes ?? scopes, options.wanted, offlineOf(issuer));
  const sentResource = defined({ resource: settings.resource === false ? undefined : resource });
  const link = new URL(issuer.authorization_endpoint ?? "");
  for (const [name, value] of Object.entries({
    response_type: "code",
    client_id: client.id,
    redirect_uri: redirectUri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    ...sentResource,
    ...(isIdentity ? { nonce } : {}),
    ...(asked.length === 0 ? {} : { scope: asked.join(" ") }),
    // OpenID Connect Core, section 11: without it there is no offline access.
    ...(asked.includes("offline_access") ? { prompt: "consent" } : {}),
  })) {
    link.searchParams.set(name, value);
  }
  checkLink(link, server);
  const paste = (text: string): boolean => callback.paste?.(text) === true;
  options.show({ issuer: issuer.issuer, link: link.href, paste });
  const given = await untilAborted(callback.came, signal);
  const login = defined<Omit<Login, "accessToken">>({
    server: server.href,
    issuer: issuer.issuer,
    tokenEndpoint: issuer.token_endpoint ?? "",
    revocationEndpoint: issuer.revocation_endpoint,
    ...sentResource,
    client,
    scopes: asked,
    identity: isIdentity ? {} : undefined,
  });
  const known = { client_id: client.id };
  try {
    // Also compares `iss` (RFC 9207), before the code is sent and before an error is shown.
    const params = oauth.validateAuthResponse(issuer, known, given, state);
    const response = await oauth.authorizationCodeGrantRequest(
      issuer,
      known,
      await clientAuth(client),
      params,
      redirectUri,
      verifier,
      { ...(await requestOptions(http)), additionalParameters: sentResource },
    );
    const bare = isIdentity ? response : await withoutIdToken(response);
    const expected = isIdentity ? { expectedNonce: nonce, requireIdToken: true } : {};
    const answer = await oauth.processAuthorizationCodeResponse(issuer, known, bare, expected);
    return await withTokens(login, answer);
  } catch (error) {
    throw issuerFault(issuer.issuer, "did not log you in", error);
  }
}

/** The server's challenge to a client without a token. */
async function challengeOf({ server, headers, http }: LogInOptions) {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "trunkline", version: "0" },
  };
  const response = await http.head(server, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
  return bearerChallenge(response.headers["www-authenticate"]);
}

/** MCP 2026-07-28: asked for only where the authorization server lists it. */
function offlineOf({ scopes_supported: scopes }: AuthorizationServer): string[] {
  return scopes?.includes("offline_access") === true ? ["offline_access"] : [];
}

/** A browser would also open other things, such as files, and pages that others on the way can change. */
function checkLink(link: URL, server: URL): void {
  const { protocol, origin, pathname } = link;
  if (protocol === "https:") return;
  const isNear = isLoopback(link) || origin === server.origin;
  if (protocol === "http:" && isNear) return;
  const what = protocol === "http:" ? "is not encrypted" : "is not a web page";
  const page = protocol === "http:" ? origin + pathname : link.href;
  throw new TrunklineError("unavailable", `Its login page '${page}' ${what}`);
}
