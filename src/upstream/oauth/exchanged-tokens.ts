import type { AuthorizationServer, TokenEndpointResponse } from "oauth4webapi";
import { TrunklineError } from "../../base/errors.ts";
import { holdSecrets } from "../../base/text/mask.ts";
import type { RefusalOutcome, HttpRefusal } from "../http/http-exchange.ts";
import type { AddressSettings } from "../settings.ts";
import { issuerMetadata } from "./discovery.ts";
import type { OAuthClient } from "./login-tokens.ts";
import {
  clientAuth,
  configuredClient,
  issuerFault,
  loadOAuth,
  OAuthHttp,
  requestOptions,
} from "./oauth-http.ts";

/** A token with which somebody has come to the gateway, and when it ends. */
export interface SubjectToken {
  readonly token: string;
  readonly until: number;
}

export const EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
/** Milliseconds before its end in which a token is not used any more. */
const MARGIN = 30_000;

/**
 * The tokens of one person at one server, in exchange for the token that the person has for the gateway
 * (RFC 8693). They are in memory only. The gateway's token goes to the configured issuer, and nowhere else.
 */
export class ExchangedTokens {
  readonly #settings: AddressSettings;
  readonly #subject: () => SubjectToken | undefined;
  #known: SubjectToken | undefined;
  #asking: Promise<SubjectToken> | undefined;

  constructor(settings: AddressSettings, subject: () => SubjectToken | undefined) {
    this.#settings = settings;
    this.#subject = subject;
  }

  token(): string | Promise<string> {
    const { token, until = 0 } = this.#known ?? {};
    if (token !== undefined && until - MARGIN > Date.now()) return token;
    // One request at a time, however many calls wait for it.
    this.#asking ??= this.#exchange().finally(() => (this.#asking = undefined));
    return this.#asking.then((known) => known.token);
  }

  async refused({ status, token }: HttpRefusal): Promise<RefusalOutcome> {
    if (this.#known?.token === token) this.#known = undefined;
    const next = await this.token();
    if (status === 401 && next !== token) return { token: next };
    return { why: `answered ${status}: it does not accept the token that was exchanged for yours` };
  }

  /** No login helps here. */
  async refusal(): Promise<undefined> {}

  async #exchange(): Promise<SubjectToken> {
    const { url, oauth = {} } = this.#settings;
    const subject = this.#subject();
    if (subject === undefined || subject.until < Date.now()) throw failed(NO_SUBJECT);
    const { issuer: named = "", clientId = "", clientSecret } = oauth;
    const http = new OAuthHttp({ server: new URL(url), trustsIssuer: true });
    const issuer = await issuerMetadata(named, http);
    const answer = await requestToken(http, {
      issuer,
      client: configuredClient(issuer, { clientId, clientSecret }),
      grant: EXCHANGE_GRANT,
      parameters: {
        ...{ subject_token: subject.token, subject_token_type: ACCESS_TOKEN },
        requested_token_type: ACCESS_TOKEN,
        ...(oauth.resource === false ? {} : { resource: url }),
        ...(oauth.scopes === undefined ? {} : { scope: oauth.scopes.join(" ") }),
      },
      refused: "did not exchange your token",
    });
    const { access_token: token, expires_in: seconds = Infinity } = answer;
    holdSecrets({ accessToken: token });
    this.#known = { token, until: Math.min(Date.now() + seconds * 1000, subject.until) };
    return this.#known;
  }
}

/** A request for a token that no browser takes part in. */
interface TokenRequest {
  readonly issuer: AuthorizationServer;
  readonly client: OAuthClient;
  readonly grant: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** What the issuer did not do where it refuses. */
  readonly refused: string;
}

export async function requestToken(
  http: OAuthHttp,
  { issuer, client, grant, parameters, refused }: TokenRequest,
): Promise<TokenEndpointResponse> {
  const oauth = await loadOAuth();
  const known = { client_id: client.id };
  try {
    const response = await oauth.genericTokenEndpointRequest(
      issuer,
      known,
      await clientAuth(client),
      grant,
      parameters,
      await requestOptions(http),
    );
    // RFC 8693, section 2.2.1: what is no access token.
    const recognizedTokenTypes = { n_a: () => {} };
    return await oauth.processGenericTokenEndpointResponse(issuer, known, response, {
      recognizedTokenTypes,
    });
  } catch (error) {
    throw issuerFault(issuer.issuer, refused, error);
  }
}

const NO_SUBJECT =
  "its 'login' is 'passed on', and you have come without a token of 'serve.oauth.authorizationServers'. " +
  "Connect to the address of the gateway with such a login: over stdio, the server cannot be used";
function failed(why: string): TrunklineError {
  return new TrunklineError("unavailable", why);
}
