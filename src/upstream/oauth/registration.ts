import type { AuthorizationServer } from "oauth4webapi";

import { TrunklineError } from "../../base/errors.ts";
import type { OAuthSettings } from "../settings.ts";
import type { ClientMethod, OAuthClient } from "./login.ts";
import type { OAuthHttp } from "./oauth-http.ts";
import { loadOAuth, oauthError, requestOptions } from "./token-requests.ts";

/**
 * Who we are to an authorization server. MCP 2025-11-25, basic/authorization § Client Registration
 * Approaches: configured, then a metadata document, then dynamic registration.
 */
export async function clientFor(
  issuer: AuthorizationServer,
  settings: OAuthSettings,
  redirectUri: string,
  http: OAuthHttp,
): Promise<OAuthClient> {
  const { clientId, clientSecret, clientMetadataUrl } = settings;
  if (clientId !== undefined) {
    // Otherwise the MCP server chooses who gets the secret, and the code of a login somewhere else.
    if (settings.issuer === undefined) throw needsIssuer(issuer);
    if (clientSecret === undefined) return { id: clientId, method: "none" };
    return { id: clientId, secret: clientSecret, method: methodWithSecret(issuer) };
  }
  const takesDocument = issuer.client_id_metadata_document_supported === true;
  if (clientMetadataUrl !== undefined && takesDocument) {
    return { id: clientMetadataUrl, method: "none" };
  }
  if (issuer.registration_endpoint !== undefined) return register(issuer, redirectUri, http);
  const needed = `register Trunkline there, and set 'oauth.clientId' of the server`;
  const why = `${issuer.issuer} has no dynamic registration`;
  throw new TrunklineError("config", `It does not know Trunkline, and ${why}: ${needed}`);
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
    application_type: "native",
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
    const why = oauthError(error);
    throw new TrunklineError("unavailable", `${issuer.issuer} does not register Trunkline: ${why}`);
  }
}

/** Some answer 200 where RFC 7591, section 3.2.1, wants 201. */
async function created(response: Response): Promise<Response> {
  if (response.status !== 200) return response;
  return new Response(await response.text(), { status: 201, headers: response.headers });
}

function methodWithSecret({
  token_endpoint_auth_methods_supported: methods,
}: AuthorizationServer): ClientMethod {
  // RFC 8414, section 2: without a list, it is this one.
  const isPost = methods?.includes("client_secret_basic") === false;
  return isPost ? "client_secret_post" : "client_secret_basic";
}
