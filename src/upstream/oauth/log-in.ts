import type { AuthorizationServer } from "oauth4webapi";

import { TrunklineError } from "../../base/errors.ts";
import { isLoopback } from "../../base/private-address.ts";
import type { OAuthSettings } from "../settings.ts";
import { Callback } from "./callback.ts";
import { bearerChallenge, unionOf } from "./challenge.ts";
import { discover } from "./discovery.ts";
import type { Login, OAuthClient } from "./login.ts";
import type { OAuthHttp } from "./oauth-http.ts";
import { clientFor } from "./registration.ts";
import {
  clientAuth,
  loadOAuth,
  oauthError,
  requestOptions,
  withoutIdToken,
  withTokens,
} from "./token-requests.ts";

export interface LogInOptions {
  readonly server: URL;
  readonly settings: OAuthSettings;
  /** The headers that the server gets with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Scopes that it has asked for before. */
  readonly wanted: readonly string[];
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
  const { server, settings, http, signal } = options;
  const challenge = await challengeOf(options);
  const { issuer, resource, scopes } = await discover(server, challenge, http, settings.issuer);
  const oauth = await loadOAuth();
  const state = oauth.generateRandomState();
  const verifier = oauth.generateRandomCodeVerifier();
  await using callback = await Callback.open(state, settings.callbackPort);
  const { redirectUri } = callback;
  const client = await clientFor(issuer, settings, redirectUri, http);
  const asked = unionOf(settings.scopes ?? scopes, options.wanted, offlineOf(issuer));
  const sentResource = settings.resource === false ? {} : { resource };
  const link = new URL(issuer.authorization_endpoint ?? "");
  for (const [name, value] of Object.entries({
    response_type: "code",
    client_id: client.id,
    redirect_uri: redirectUri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    ...sentResource,
    ...(asked.length === 0 ? {} : { scope: asked.join(" ") }),
    // OpenID Connect Core, section 11: without it there is no offline access.
    ...(asked.includes("offline_access") ? { prompt: "consent" } : {}),
  })) {
    link.searchParams.set(name, value);
  }
  checkLink(link, server);
  const paste = (text: string): boolean => callback.paste(text);
  options.show({ issuer: issuer.issuer, link: link.href, paste });
  const given = await Promise.race([callback.came, aborted(signal)]);
  const { revocation_endpoint: revocationEndpoint, token_endpoint: tokenEndpoint = "" } = issuer;
  const login = {
    server: server.href,
    issuer: issuer.issuer,
    tokenEndpoint,
    ...(revocationEndpoint === undefined ? {} : { revocationEndpoint }),
    ...sentResource,
    client,
    scopes: asked,
  };
  return await exchangeCode(login, { issuer, client, given, redirectUri, verifier, state, http });
}

/** What the server says to a client without a token. */
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

interface CodeExchange {
  readonly issuer: AuthorizationServer;
  readonly client: OAuthClient;
  readonly given: URLSearchParams;
  readonly redirectUri: string;
  readonly verifier: string;
  readonly state: string;
  readonly http: OAuthHttp;
}

async function exchangeCode(
  login: Omit<Login, "accessToken">,
  { issuer, client, given, redirectUri, verifier, state, http }: CodeExchange,
): Promise<Login> {
  const oauth = await loadOAuth();
  const known = { client_id: client.id };
  try {
    // Also compares `iss` (RFC 9207), before the code is sent and before an error is shown.
    const params = oauth.validateAuthResponse(issuer, known, given, state);
    const { resource } = login;
    const response = await oauth.authorizationCodeGrantRequest(
      issuer,
      known,
      await clientAuth(client),
      params,
      redirectUri,
      verifier,
      {
        ...(await requestOptions(http)),
        ...(resource === undefined ? {} : { additionalParameters: { resource } }),
      },
    );
    const bare = await withoutIdToken(response);
    return withTokens(login, await oauth.processAuthorizationCodeResponse(issuer, known, bare));
  } catch (error) {
    throw new TrunklineError(
      "unavailable",
      `${issuer.issuer} did not log you in: ${oauthError(error)}`,
    );
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = (): void => reject(signal.reason as Error);
    if (signal.aborted) give();
    else signal.addEventListener("abort", give, { once: true });
  });
}
