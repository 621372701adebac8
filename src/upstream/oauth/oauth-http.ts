import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { AuthorizationServer, Client, ClientAuth, TokenEndpointResponse } from "oauth4webapi";
import { TrunklineError } from "../../base/errors.ts";
import { isLoopback, isPrivateAddress } from "../../base/private-address.ts";
import {
  publicLookup,
  type PublicLookupOptions,
  refusePrivate,
  type AddressResolver,
} from "../../base/public-lookup.ts";
import { boundedBody } from "../../base/bounded-body.ts";
import { isObject, parsedJson } from "../../base/check.ts";
import { defined } from "../../base/defined.ts";
import type { OAuthSettings } from "../../config/schema/schema.gen.ts";
import { sendHttp } from "../http/http-call.ts";
import { issuerMetadata, scopesOf } from "./discovery.ts";
import type { ClientMethod, Login, OAuthClient } from "./login-tokens.ts";

interface OAuthHttpOptions {
  /** The MCP server, by the address that the person has configured. */
  readonly server: URL;
  /** The person has configured the issuer, too: it may be in a private network. */
  readonly trustsIssuer: boolean;
  readonly resolve?: AddressResolver;
  /** Milliseconds that one request may take. */
  readonly timeout?: number;
}

interface OAuthRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | undefined;
}

const TIMEOUT = 15_000;
const LARGEST_ANSWER = 1_000_000;
/** Statuses whose `Response` has no body. */
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Requests to authorization servers. Their addresses come from the MCP server, so they lead to a private
 * network only if the person has configured a server there, and without TLS only to this machine.
 * Redirections are not followed.
 */
export class OAuthHttp {
  readonly #options: OAuthHttpOptions;

  constructor(options: OAuthHttpOptions) {
    this.#options = options;
  }

  /** The answer with its body, in the form that `oauth4webapi` takes. */
  async fetch(address: string, request: OAuthRequest): Promise<Response> {
    const url = new URL(address);
    const response = await this.#send(url, request);
    const status = response.statusCode ?? 500;
    const body = await bodyOf(url, response);
    const headers = new Headers();
    for (const [name, value] of Object.entries(response.headers)) {
      // The library would report this header instead of the error in the body.
      if (value !== undefined && name !== "www-authenticate") headers.set(name, String(value));
    }
    return new Response(NO_BODY.has(status) ? null : body, { status, headers });
  }

  /** The status and the headers; the body is not read, since it may have no end. */
  async head(url: URL, request: OAuthRequest): Promise<IncomingMessage> {
    const response = await this.#send(url, request);
    response.on("error", () => {}).destroy();
    return response;
  }

  /** The object that an address serves as JSON; undefined if it serves none. */
  async json(url: URL): Promise<Readonly<Record<string, unknown>> | undefined> {
    const response = await this.fetch(url.href, { headers: { accept: "application/json" } });
    if (response.status !== 200) return undefined;
    const value = parsedJson(await response.text());
    return isObject(value) ? value : undefined;
  }

  async #send(url: URL, request: OAuthRequest): Promise<IncomingMessage> {
    const { timeout = TIMEOUT, server } = this.#options;
    if (url.protocol !== "https:" && url.origin !== server.origin) refuseInsecure(url);
    const rules = this.#rulesFor(url);
    if (rules !== undefined) refusePrivate(url, rules);
    const { method = "GET", headers = {}, body } = request;
    const text = body === undefined ? undefined : String(body);
    const signal = AbortSignal.timeout(timeout);
    const lookup = rules === undefined ? {} : { lookup: publicLookup(rules) };
    try {
      const sent = { url, method, headers, body: text };
      return await sendHttp(sent, { signal, agent: false, ...lookup });
    } catch (error) {
      if (error instanceof TrunklineError) throw error;
      const late = `no answer within ${timeout / 1000} s`;
      throw unreachable(url, signal.aborted ? late : (error as Error));
    }
  }

  /** Undefined where any address may be reached. */
  #rulesFor(url: URL): PublicLookupOptions | undefined {
    const { server, trustsIssuer, resolve } = this.#options;
    if (trustsIssuer || url.origin === server.origin || isPrivateHost(server)) return undefined;
    return {
      resolve,
      refuse: (address) => {
        const leads = `its server leads us to ${url.origin}, which is ${address}, a private address`;
        const next = "If you trust it, set 'oauth.issuer' of the server to its issuer";
        return new TrunklineError("unavailable", `${leads}. ${next}`);
      },
    };
  }
}

/** Whether the host is a private address by itself. A name may resolve to another address at any time. */
function isPrivateHost(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return isLoopback(url) || (isIP(host) !== 0 && isPrivateAddress(host));
}

function refuseInsecure(url: URL): void {
  const isWeb = url.protocol === "http:";
  if (isWeb && isLoopback(url)) return;
  const why = isWeb ? "it is not encrypted" : "it is not the address of a web server";
  throw new TrunklineError("unavailable", `Cannot use ${url.origin} for a login: ${why}`);
}

function unreachable(url: URL, error: string | Error): TrunklineError {
  const why = typeof error === "string" ? error : error.message || String(error);
  return new TrunklineError("unavailable", `Cannot reach ${url.origin}: ${why}`);
}

async function bodyOf(url: URL, response: IncomingMessage): Promise<string> {
  try {
    const { body, isCut } = await boundedBody(response, LARGEST_ANSWER);
    if (isCut) {
      const why = `it has more than ${LARGEST_ANSWER} bytes`;
      throw new TrunklineError("unavailable", `Cannot use the answer of ${url.origin}: ${why}`);
    }
    return body.toString("utf8");
  } catch (error) {
    if (error instanceof TrunklineError) throw error;
    throw unreachable(url, error as Error);
  }
}

/** The library is only loaded to log in, to renew a login and to end it. */
export const loadOAuth = () => import("oauth4webapi");

/** The options of its requests: ours decide what may be reached. */
export async function requestOptions(http: OAuthHttp) {
  // oxlint-disable-next-line typescript/no-deprecated -- `OAuthHttp` allows that on this machine only.
  const { allowInsecureRequests, customFetch } = await loadOAuth();
  return {
    [allowInsecureRequests]: true,
    [customFetch]: (url: string, init: Parameters<OAuthHttp["fetch"]>[1]) => http.fetch(url, init),
  };
}

export async function clientAuth({ secret, method }: OAuthClient): Promise<ClientAuth> {
  const { ClientSecretBasic, ClientSecretPost, None } = await loadOAuth();
  if (secret === undefined || method === "none") return None();
  return method === "client_secret_post" ? ClientSecretPost(secret) : ClientSecretBasic(secret);
}

/** The client that a person has registered. */
export function configuredClient(
  issuer: AuthorizationServer,
  { clientMetadataUrl = "", clientId: id = clientMetadataUrl, clientSecret: secret }: OAuthSettings,
): OAuthClient {
  return secret === undefined
    ? { id, method: "none" }
    : { id, secret, method: methodWithSecret(issuer) };
}

export function methodWithSecret({
  token_endpoint_auth_methods_supported: methods,
}: AuthorizationServer): ClientMethod {
  // RFC 8414, section 2: without a list, it is this one.
  const isPost = methods?.includes("client_secret_basic") === false;
  return isPost ? "client_secret_post" : "client_secret_basic";
}

const OVER = /^(?:invalid_grant|invalid_client|unauthorized_client|invalid_scope)\b/;

/** Exchanges the refresh token for new ones. Throws `LoginEnded` if only a person can log in again. */
export async function renewLogin(login: Login, http: OAuthHttp): Promise<Login> {
  const { processRefreshTokenResponse, refreshTokenGrantRequest } = await loadOAuth();
  const { client, refreshToken = "", resource, scopes } = login;
  const issuer: AuthorizationServer =
    login.identity === undefined
      ? { issuer: login.issuer, token_endpoint: login.tokenEndpoint }
      : await issuerMetadata(login.issuer, http);
  const known: Client = { client_id: client.id };
  // Some want the scopes, though RFC 6749, section 6, does not.
  const additionalParameters = defined({ resource, scope: scopes.join(" ") || undefined });
  const auth = await clientAuth(client);
  const options = { ...(await requestOptions(http)), additionalParameters };
  try {
    const response = await refreshTokenGrantRequest(issuer, known, auth, refreshToken, options);
    const bare = login.identity === undefined ? await withoutIdToken(response) : response;
    return await withTokens(login, await processRefreshTokenResponse(issuer, known, bare));
  } catch (error) {
    if (error instanceof LoginEnded) throw error;
    const why = oauthError(error);
    if (OVER.test(why)) throw new LoginEnded(why);
    throw issuerFault(login.issuer, "did not renew your login", error);
  }
}

/** Ends both tokens where the authorization server can (RFC 7009). Whether it could. */
export async function revokeLogin(login: Login, http: OAuthHttp): Promise<boolean> {
  const { revocationEndpoint, refreshToken, accessToken, client, identity } = login;
  if (revocationEndpoint === undefined) return false;
  const { processRevocationResponse, revocationRequest } = await loadOAuth();
  const issuer = { issuer: login.issuer, revocation_endpoint: revocationEndpoint };
  const auth = await clientAuth(client);
  const options = await requestOptions(http);
  try {
    // An ID token cannot be ended.
    for (const token of [refreshToken, identity === undefined ? accessToken : undefined]) {
      if (token === undefined) continue;
      const known = { client_id: client.id };
      await processRevocationResponse(await revocationRequest(issuer, known, auth, token, options));
    }
    return true;
  } catch (error) {
    throw new TrunklineError("unavailable", oauthError(error));
  }
}

/** The login with the tokens of an answer. A refresh token that was not replaced stays. */
export async function withTokens(
  login: Omit<Login, "accessToken">,
  answer: TokenEndpointResponse,
): Promise<Login> {
  const { access_token, refresh_token, expires_in, scope, id_token } = answer;
  const common = {
    ...login,
    scopes: scope === undefined ? login.scopes : scopesOf(scope),
    refreshToken: refresh_token ?? login.refreshToken,
  };
  if (login.identity === undefined) {
    const expiresAt = expires_in === undefined ? undefined : Date.now() + expires_in * 1000;
    return defined<Login>({ ...common, accessToken: access_token, expiresAt });
  }
  const { getValidatedIdTokenClaims } = await loadOAuth();
  const { sub, exp } = getValidatedIdTokenClaims(answer) ?? {};
  if (id_token === undefined || sub === undefined || exp === undefined) {
    throw new LoginEnded("it gives no new ID token");
  }
  // OpenID Connect Core, section 12.2: nobody becomes another by a renewal.
  const { subject = sub } = login.identity;
  if (subject !== sub) throw new LoginEnded("its new ID token is of somebody else");
  const identity = { subject };
  return defined<Login>({ ...common, identity, accessToken: id_token, expiresAt: exp * 1000 });
}

/** An answer without its ID token: nobody here asks who the person is. */
export async function withoutIdToken(response: Response): Promise<Response> {
  const { status, headers } = response;
  const text = await response.text();
  const answer = parsedJson(text);
  if (isObject(answer)) delete answer.id_token;
  return new Response(isObject(answer) ? JSON.stringify(answer) : text, { status, headers });
}

/** Only a new login helps. */
export class LoginEnded extends Error {}

/**
 * The error of an authorization server, in words. Only the two fields that are meant for people are repeated:
 * the rest may contain secrets.
 */
export function oauthError(error: unknown): string {
  const { error: code, error_description: text, message, cause } = error as OAuthErrorLike;
  if (cause instanceof Response) return `it answered ${cause.status}, and not as OAuth has it`;
  if (typeof code !== "string") return typeof message === "string" ? message : String(error);
  return typeof text === "string" ? `${code}: ${text}` : code;
}

/**
 * The failure of a request to an issuer: it was not reached, its answer is invalid, or it refused. `refused`
 * names what it refused. The cause is the code of its error.
 */
export function issuerFault(issuer: string, refused: string, error: unknown): TrunklineError {
  if (error instanceof TrunklineError) return error;
  const { error: code, cause } = error as OAuthErrorLike;
  const why = oauthError(error);
  const isAnswer = typeof code === "string" || cause instanceof Response;
  const isUnknown = code === "invalid_client" || code === "unauthorized_client";
  const next = "Check the client that is configured for it ('clientId' and 'clientSecret')";
  const says = isAnswer
    ? `${issuer} ${refused}: ${why}`
    : `Refused what ${issuer} answered: ${why}`;
  return new TrunklineError("unavailable", isUnknown ? `${says}. ${next}` : says, { cause: code });
}

interface OAuthErrorLike {
  readonly error?: unknown;
  readonly error_description?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
}
