import type { AuthorizationServer, TokenEndpointResponse } from "oauth4webapi";
import { TrunklineError } from "../../base/errors.ts";
import { holdSecrets } from "../../base/text/mask.ts";
import type { HttpAuthorization, HttpRefusal, RefusalOutcome } from "../http/http-exchange.ts";
import type { AddressSettings } from "../settings.ts";
import { bearerChallenge, issuerMetadata, unionOf } from "./discovery.ts";
import type { LoginTokens, OAuthClient } from "./login-tokens.ts";
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

/** What says who a person is: their token for the gateway, or their login at an identity provider. */
export type Subject = Pick<LoginTokens, "token" | "refusal" | "refused">;

/** How a token of a server is had for the token of a subject, with these scopes besides. */
export interface TokenExchange {
  readonly settings: AddressSettings;
  readonly extension?: string;
  tokenFor(subject: string, scopes: readonly string[]): Promise<TokenEndpointResponse>;
}

/** The issuer of a subject's token takes it no more. */
export class SubjectRefusedError extends TrunklineError {}

export const EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
/** Milliseconds before its end in which a token is not used any more. */
const MARGIN = 30_000;
/** Seconds that a token is used whose end nobody has said. */
const DEFAULT_SECONDS = 300;
/** Scopes that a server may ask for in the course of time. */
const MOST_SCOPES = 100;

interface AskedToken {
  readonly of: string;
  readonly token: string;
  readonly until: number;
}

/**
 * The tokens of one person at one server, in exchange for what says who the person is. They are in memory
 * only, and each is good for the subject's token that it was made of.
 */
export class ExchangedTokens implements HttpAuthorization {
  readonly extension: string | undefined;
  readonly #subject: Subject;
  readonly #exchange: TokenExchange;
  #known: AskedToken | undefined;
  #asking: { readonly of: string; readonly answer: Promise<AskedToken | undefined> } | undefined;
  /** Scopes that the server has asked for. */
  #wanted: readonly string[] = [];

  constructor(subject: Subject, exchange: TokenExchange) {
    this.#subject = subject;
    this.#exchange = exchange;
    this.extension = exchange.extension;
  }

  async token(): Promise<string | undefined> {
    const subject = await this.#subject.token();
    if (subject === undefined) return undefined;
    const { of, token, until = 0 } = this.#known ?? {};
    if (of === subject && until - MARGIN > Date.now()) return token;
    // One request at a time, however many calls wait for it.
    if (this.#asking?.of !== subject) {
      const asking = { of: subject, answer: this.#ask(subject) };
      const over = (known?: AskedToken): void => {
        if (this.#asking === asking) this.#asking = undefined;
        this.#known = known ?? this.#known;
      };
      asking.answer.then(over, () => over());
      this.#asking = asking;
    }
    return (await this.#asking.answer)?.token;
  }

  refusal(): Promise<string | undefined> {
    return this.#subject.refusal();
  }

  async refused(refusal: HttpRefusal): Promise<RefusalOutcome> {
    const { status, challenge, token } = refusal;
    if (token === undefined) return await this.#subject.refused(refusal);
    if (status === 403) {
      const { scopes = [] } = bearerChallenge(challenge) ?? {};
      const wanted = unionOf(this.#wanted, scopes);
      const isMore = wanted.length > this.#wanted.length && wanted.length <= MOST_SCOPES;
      if (!isMore || this.#exchange.settings.oauth?.scopes !== undefined) {
        const what = scopes.length === 0 ? "more" : `the scope ${scopes.join(" ")}`;
        return { why: `wants ${what} (403), which you are not given` };
      }
      this.#wanted = wanted;
    }
    if (this.#known?.token === token) this.#known = undefined;
    const next = await this.token();
    if (next !== undefined && next !== token) return { token: next };
    const why = `answered ${status}: it does not accept the token that was exchanged for yours`;
    return { why: (await this.refusal()) ?? why };
  }

  /** Undefined where the person has to log in first. */
  async #ask(subject: string): Promise<AskedToken | undefined> {
    let of = subject;
    let answer: TokenEndpointResponse;
    try {
      answer = await this.#exchange.tokenFor(of, this.#wanted);
    } catch (error) {
      if (!(error instanceof SubjectRefusedError)) throw error;
      const refusal: HttpRefusal = { status: 401, challenge: undefined, token: of };
      const next = await this.#subject.refused(refusal);
      if (!("token" in next)) return undefined;
      of = next.token;
      answer = await this.#exchange.tokenFor(of, this.#wanted);
    }
    const { access_token: token, expires_in: seconds = DEFAULT_SECONDS } = answer;
    holdSecrets({ accessToken: token });
    return { of, token, until: Date.now() + seconds * 1000 };
  }
}

/** The token with which a person has come to the gateway, as what says who they are. No login helps here. */
export function gatewaySubject(find: () => SubjectToken | undefined): Subject {
  return {
    token: () => {
      const { token, until = 0 } = find() ?? {};
      if (token === undefined || until < Date.now()) {
        throw new TrunklineError("unavailable", NO_SUBJECT);
      }
      return token;
    },
    refusal: async () => undefined,
    refused: async ({ status }) => ({ why: `answered ${status}` }),
  };
}

const NO_SUBJECT =
  "its 'login' is 'passed on', and you have come without a token of 'serve.oauth.authorizationServers'. " +
  "Connect to the address of the gateway with such a login: over stdio, the server cannot be used";

/** RFC 8693. The gateway's token goes to the configured issuer, and nowhere else. */
export function plainExchange(settings: AddressSettings): TokenExchange {
  const { url, oauth = {} } = settings;
  return {
    settings,
    tokenFor: async (subject, wanted) => {
      const http = new OAuthHttp({ server: new URL(url), trustsIssuer: true });
      const issuer = await issuerMetadata(oauth.issuer ?? "", http);
      return await requestToken(http, {
        issuer,
        client: configuredClient(issuer, oauth),
        grant: EXCHANGE_GRANT,
        parameters: {
          ...{ subject_token: subject, subject_token_type: ACCESS_TOKEN },
          requested_token_type: ACCESS_TOKEN,
          ...askedFor(oauth, url, wanted),
        },
        refused: "did not exchange your token",
      });
    },
  };
}

/** The server and the scopes, as parameters of requests for a token. */
export function askedFor(
  { resource: isNamed, scopes }: NonNullable<AddressSettings["oauth"]>,
  resource: string,
  wanted: readonly string[],
): Readonly<Record<string, string>> {
  const scope = (scopes ?? wanted).join(" ");
  return { ...(isNamed === false ? {} : { resource }), ...(scope === "" ? {} : { scope }) };
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
  const [auth, options] = [await clientAuth(client), await requestOptions(http)];
  // RFC 8693, section 2.2.1: what is no access token.
  const more = { recognizedTokenTypes: { n_a: () => {} } };
  try {
    const response = await oauth.genericTokenEndpointRequest(
      ...[issuer, known, auth, grant, parameters, options],
    );
    return await oauth.processGenericTokenEndpointResponse(issuer, known, response, more);
  } catch (error) {
    throw issuerFault(issuer.issuer, refused, error);
  }
}
