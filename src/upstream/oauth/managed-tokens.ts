import { decodeJwt, decodeProtectedHeader } from "jose";
import type { TokenEndpointResponse } from "oauth4webapi";
import { attempt } from "../../base/attempt.ts";
import { TrunklineError } from "../../base/errors.ts";
import { holdSecrets } from "../../base/text/mask.ts";
import type { RefusalOutcome, HttpAuthorization, HttpRefusal } from "../http/http-exchange.ts";
import type { AddressSettings, IdentityProvider } from "../settings.ts";
import { bearerChallenge, discover, issuerMetadata, unionOf } from "./discovery.ts";
import { EXCHANGE_GRANT, requestToken } from "./exchanged-tokens.ts";
import type { LoginTokens } from "./login-tokens.ts";
import { configuredClient, OAuthHttp } from "./oauth-http.ts";

const BEARER_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
/** Milliseconds before its end in which a token is not used any more. */
const MARGIN = 30_000;
/** Scopes that a server may ask for in the course of time. */
const MOST_SCOPES = 100;

/** A person's login at an identity provider: its token is the ID token. */
type Identity = Pick<LoginTokens, "token" | "refusal" | "refused">;

/** Tells servers that their people come by an identity provider. */
const EXTENSION = "io.modelcontextprotocol/enterprise-managed-authorization";

/**
 * The tokens of one person at one server whose authorization server trusts the identity provider of the
 * organization: the person's ID token is exchanged for an assertion that is made out to that authorization
 * server (ID-JAG, draft-ietf-oauth-identity-assertion-authz-grant-04), and that for a token. So the identity
 * provider decides each time. They are in memory only, and each is good for one ID token.
 */
export class ManagedTokens implements HttpAuthorization {
  readonly extension = EXTENSION;
  readonly #settings: AddressSettings;
  readonly #provider: IdentityProvider;
  /** The person's login at the identity provider. */
  readonly #identity: Identity;
  #known: { readonly of: string; readonly token: string; readonly until: number } | undefined;
  #asking: { readonly of: string; readonly token: Promise<string | undefined> } | undefined;
  /** Scopes that the server has asked for. */
  #wanted: readonly string[] = [];

  constructor(settings: AddressSettings, provider: IdentityProvider, identity: Identity) {
    this.#settings = settings;
    this.#provider = provider;
    this.#identity = identity;
  }

  async token(): Promise<string | undefined> {
    const identity = await this.#identity.token();
    if (identity === undefined) return undefined;
    const { of, token, until = 0 } = this.#known ?? {};
    if (of === identity && until - MARGIN > Date.now()) return token;
    // One request at a time, however many calls wait for it.
    if (this.#asking?.of !== identity) {
      const asking = { of: identity, token: this.#tokenFor(identity) };
      const over = (): void => {
        if (this.#asking === asking) this.#asking = undefined;
      };
      asking.token.then(over, over);
      this.#asking = asking;
    }
    return await this.#asking.token;
  }

  refusal(): Promise<string | undefined> {
    return this.#identity.refusal();
  }

  async refused(refusal: HttpRefusal): Promise<RefusalOutcome> {
    const { status, challenge, token } = refusal;
    if (token === undefined) return await this.#identity.refused(refusal);
    if (status === 403) {
      const { scopes = [] } = bearerChallenge(challenge) ?? {};
      const wanted = unionOf(this.#wanted, scopes);
      const isMore = wanted.length > this.#wanted.length && wanted.length <= MOST_SCOPES;
      const missing = `wants ${scopes.length === 0 ? "more" : `the scope ${scopes.join(" ")}`} (403)`;
      if (!isMore || this.#settings.oauth?.scopes !== undefined) {
        return { why: `${missing}, which your organization does not give you` };
      }
      this.#wanted = wanted;
    }
    if (this.#known?.token === token) this.#known = undefined;
    const next = await this.token();
    if (next !== undefined && next !== token) return { token: next };
    const why = `answered ${status}: it does not accept the token that was made for you`;
    return { why: (await this.refusal()) ?? why };
  }

  /** Undefined where the person has to log in at the identity provider first. */
  async #tokenFor(identity: string): Promise<string | undefined> {
    const { url, oauth = {} } = this.#settings;
    const { clientId = oauth.clientMetadataUrl ?? "", clientSecret } = oauth;
    // `loginMistake` wants it configured: else the server would choose who gets the assertion.
    const { issuer: named = "" } = oauth;
    const http = new OAuthHttp({ server: new URL(url), trustsIssuer: true });
    const { issuer, resource, scopes } = await discover(new URL(url), undefined, http, named);
    const scope = (oauth.scopes ?? unionOf(scopes, this.#wanted)).join(" ");
    const what = {
      ...(oauth.resource === false ? {} : { resource }),
      ...(scope === "" ? {} : { scope }),
    };
    const provider = await issuerMetadata(this.#provider.issuer, http);
    const assertionOf = async (of: string): Promise<{ of: string; assertion: string }> => {
      const answer = await requestToken(http, {
        issuer: provider,
        client: configuredClient(provider, this.#provider),
        grant: EXCHANGE_GRANT,
        parameters: {
          ...{ subject_token: of, subject_token_type: ID_TOKEN },
          ...{ requested_token_type: ID_JAG, audience: issuer.issuer, ...what },
        },
        refused: "did not pass you on",
      });
      checkAssertion(answer, { iss: provider.issuer, aud: issuer.issuer, resource });
      return { of, assertion: answer.access_token };
    };
    let passed: Awaited<ReturnType<typeof assertionOf>>;
    try {
      passed = await assertionOf(identity);
    } catch (error) {
      const next = await this.#renewed(identity, error);
      if (next === undefined) return undefined;
      passed = await assertionOf(next);
    }
    const { of, assertion } = passed;
    const { access_token: token, expires_in: seconds = DEFAULT_SECONDS } = await requestToken(
      http,
      {
        issuer,
        client: configuredClient(issuer, { clientId, clientSecret }),
        grant: BEARER_GRANT,
        parameters: { assertion, ...what },
        refused: `does not let in whom ${provider.issuer} has passed on`,
      },
    );
    holdSecrets({ accessToken: token });
    this.#known = { of, token, until: Date.now() + seconds * 1000 };
    return token;
  }

  /** Another ID token where the identity provider takes this one no more. Throws any other error. */
  async #renewed(identity: string, error: unknown): Promise<string | undefined> {
    if (!(error instanceof Error) || error.cause !== "invalid_grant") throw error;
    const refusal: HttpRefusal = { status: 401, challenge: undefined, token: identity };
    const next = await this.#identity.refused(refusal);
    return "token" in next ? next.token : undefined;
  }
}

/** How long a token is used whose end nobody has said. */
const DEFAULT_SECONDS = 300;

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
