import type { AuthorizationServer, Client, ClientAuth, TokenEndpointResponse } from "oauth4webapi";

import { TrunklineError } from "../../base/errors.ts";
import { scopesOf } from "./challenge.ts";
import type { Login, OAuthClient } from "./login.ts";
import type { OAuthHttp } from "./oauth-http.ts";

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

/** Exchanges the refresh token for new ones. Throws `LoginEnded` if only a person can log in again. */
export async function renewLogin(login: Login, http: OAuthHttp): Promise<Login> {
  const { processRefreshTokenResponse, refreshTokenGrantRequest } = await loadOAuth();
  const { client, refreshToken = "", resource, scopes } = login;
  const issuer: AuthorizationServer = { issuer: login.issuer, token_endpoint: login.tokenEndpoint };
  const known: Client = { client_id: client.id };
  const more = {
    ...(resource === undefined ? {} : { resource }),
    // Some want it, though RFC 6749, section 6, does not.
    ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
  };
  const auth = await clientAuth(client);
  const options = { ...(await requestOptions(http)), additionalParameters: more };
  try {
    const response = await refreshTokenGrantRequest(issuer, known, auth, refreshToken, options);
    const bare = await withoutIdToken(response);
    return withTokens(login, await processRefreshTokenResponse(issuer, known, bare));
  } catch (error) {
    const why = oauthError(error);
    const isOver = /^(?:invalid_grant|invalid_client|unauthorized_client|invalid_scope)\b/.test(
      why,
    );
    if (isOver) throw new LoginEnded(why);
    const says = `its login at ${login.issuer} could not be renewed: ${why}`;
    throw new TrunklineError("unavailable", says);
  }
}

/** Ends both tokens where the authorization server can (RFC 7009). Whether it could. */
export async function revokeLogin(login: Login, http: OAuthHttp): Promise<boolean> {
  const { revocationEndpoint, refreshToken, accessToken, client } = login;
  if (revocationEndpoint === undefined) return false;
  const { processRevocationResponse, revocationRequest } = await loadOAuth();
  const issuer = { issuer: login.issuer, revocation_endpoint: revocationEndpoint };
  const auth = await clientAuth(client);
  const options = await requestOptions(http);
  try {
    for (const token of [refreshToken, accessToken]) {
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
export function withTokens(
  login: Omit<Login, "accessToken">,
  { access_token, refresh_token, expires_in, scope }: TokenEndpointResponse,
): Login {
  const { expiresAt: _, ...rest } = login;
  return {
    ...rest,
    accessToken: access_token,
    scopes: scope === undefined ? login.scopes : scopesOf(scope),
    ...(refresh_token === undefined ? {} : { refreshToken: refresh_token }),
    ...(expires_in === undefined ? {} : { expiresAt: Date.now() + expires_in * 1000 }),
  };
}

/** An answer without its ID token: nobody here asks who the person is. */
export async function withoutIdToken(response: Response): Promise<Response> {
  const { status, headers } = response;
  const text = await response.text();
  try {
    const { id_token: _, ...rest } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return new Response(JSON.stringify(rest), { status, headers });
  } catch {
    return new Response(text, { status, headers });
  }
}

/** Nothing but a new login helps. */
export class LoginEnded extends Error {}

/**
 * What an authorization server has answered, in words. Only the two fields that are meant for people are
 * repeated: the rest may have secrets in it.
 */
export function oauthError(error: unknown): string {
  const { error: code, error_description: text, message, cause } = error as OAuthErrorLike;
  if (cause instanceof Response) return `it answered ${cause.status}, and not as OAuth has it`;
  if (typeof code !== "string") return typeof message === "string" ? message : String(error);
  return typeof text === "string" ? `${code}: ${text}` : code;
}

interface OAuthErrorLike {
  readonly error?: unknown;
  readonly error_description?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
}
