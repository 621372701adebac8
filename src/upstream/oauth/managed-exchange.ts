import { decodeJwt, decodeProtectedHeader } from "jose";
import type { TokenEndpointResponse } from "oauth4webapi";
import { attempt } from "../../base/attempt.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { AddressSettings, IdentityProvider } from "../settings.ts";
import { discover, issuerMetadata, unionOf } from "./discovery.ts";
import {
  askedFor,
  EXCHANGE_GRANT,
  requestToken,
  SubjectRefusedError,
  type TokenExchange,
} from "./exchanged-tokens.ts";
import { configuredClient, OAuthHttp } from "./oauth-http.ts";

const BEARER_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";

/**
 * Tokens of a server whose authorization server trusts the identity provider of the organization: a person's
 * ID token is exchanged there for an assertion that is made out to that authorization server (ID-JAG,
 * draft-ietf-oauth-identity-assertion-authz-grant-04), and that for a token. So the identity provider decides
 * each time.
 */
export function managedExchange(
  settings: AddressSettings,
  provider: IdentityProvider,
): TokenExchange {
  const { url, oauth = {} } = settings;
  // `loginMistake` wants the issuer configured: else the server would choose who gets the assertion.
  const { issuer: named = "" } = oauth;
  return {
    settings,
    extension: "io.modelcontextprotocol/enterprise-managed-authorization",
    tokenFor: async (identity, wanted) => {
      const http = new OAuthHttp({ server: new URL(url), trustsIssuer: true });
      const { issuer, resource, scopes } = await discover(new URL(url), undefined, http, named);
      const what = askedFor(oauth, resource, unionOf(scopes, wanted));
      const voucher = await issuerMetadata(provider.issuer, http);
      const answer = await requestToken(http, {
        issuer: voucher,
        client: configuredClient(voucher, provider),
        grant: EXCHANGE_GRANT,
        parameters: {
          ...{ subject_token: identity, subject_token_type: ID_TOKEN },
          ...{ requested_token_type: ID_JAG, audience: issuer.issuer, ...what },
        },
        refused: "did not pass you on",
      }).catch(subjectRefused);
      checkAssertion(answer, { iss: voucher.issuer, aud: issuer.issuer, resource });
      return await requestToken(http, {
        issuer,
        client: configuredClient(issuer, oauth),
        grant: BEARER_GRANT,
        parameters: { assertion: answer.access_token, ...what },
        refused: `does not let in whom ${voucher.issuer} has passed on`,
      });
    },
  };
}

function subjectRefused(error: unknown): never {
  if (!(error instanceof TrunklineError) || error.cause !== "invalid_grant") throw error;
  throw new SubjectRefusedError(error.code, error.message);
}

/**
 * What is passed on to another's authorization server has to be an assertion for that one alone: with another
 * kind of token, or one made out to somebody else, it could be the person elsewhere. One that is encrypted
 * cannot be read here.
 */
function checkAssertion(
  { access_token: assertion, issued_token_type: type }: TokenEndpointResponse,
  expected: { readonly iss: string; readonly aud: string; readonly resource: string },
): void {
  const claims = attempt(() => ({ ...decodeProtectedHeader(assertion), ...decodeJwt(assertion) }));
  const isEncrypted = assertion.split(".").length === 5;
  const { typ, resource = expected.resource } = claims ?? {};
  const wrong = [
    type !== ID_JAG && "another kind of token",
    !isEncrypted && typ !== "oauth-id-jag+jwt" && "no identity assertion",
    !isEncrypted && claims?.iss !== expected.iss && "an assertion of another issuer",
    !isEncrypted && claims?.aud !== expected.aud && "an assertion for another authorization server",
    resource !== expected.resource && "an assertion for another server",
  ].find((what) => what !== false);
  if (wrong === undefined) return;
  const says = `The identity provider ${expected.iss} has answered with ${wrong}, which is not passed on`;
  throw new TrunklineError("unavailable", says);
}
