import type { RefusalOutcome, HttpAuthorization, HttpRefusal } from "../http/http-exchange.ts";
import { bearerChallenge, unionOf } from "./discovery.ts";
import { LoginEnded, type OAuthHttp, renewLogin } from "./oauth-http.ts";

/** How the client proves who it is to the authorization server. */
export type ClientMethod = "none" | "client_secret_basic" | "client_secret_post";

/** Our registration as a client of an authorization server. */
export interface OAuthClient {
  readonly id: string;
  readonly secret?: string;
  readonly method: ClientMethod;
}

/** A login at an MCP server, with everything needed to renew and end it. It is stored as one secret. */
export interface Login {
  /** The address of the MCP server. The tokens are sent nowhere else. */
  readonly server: string;
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
  /** The name of the server in requests for tokens; undefined if it is left out. */
  readonly resource?: string;
  readonly client: OAuthClient;
  readonly scopes: readonly string[];
  /** Of a login at an identity provider: who the person is there. Its `accessToken` is the ID token. */
  readonly identity?: { readonly subject?: string };
  readonly accessToken: string;
  /** In milliseconds since 1970; undefined if the authorization server does not say. */
  readonly expiresAt?: number;
  readonly refreshToken?: string;
}

/** The public part of a login. */
export interface LoginState {
  /** Undefined if nobody has logged in yet. */
  readonly issuer?: string;
  readonly scopes?: readonly string[];
  readonly expiresAt?: number;
  /** It is renewed without a person. */
  readonly isRenewed?: boolean;
  /** The person whose it is, and the name of the server; left out of a login that all share. */
  readonly person?: string;
  readonly name?: string;
  /** Scopes that the server has asked for in vain. The next login asks for them. */
  readonly wanted?: readonly string[];
  /** Why it can no longer be used. */
  readonly ended?: string;
}

/** The place of one login. */
export interface LoginStore {
  /** Undefined if there is none for this address. */
  read(): Promise<Login | undefined>;
  write(login: Login): Promise<void>;
  /** Removes the login, and removes or replaces its public state. False if there was none. */
  remove(state?: LoginState): Promise<boolean>;
  state(): Promise<LoginState>;
  /** The server wants these scopes, too. */
  want(scopes: readonly string[]): Promise<void>;
  /** Differs after another process has changed anything. */
  stamp(): string;
  /** Runs work that no other process does at the same time. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** Milliseconds before the end of a token in which it is not used any more. */
const MARGIN = 30_000;

function isExpired({ expiresAt }: Pick<Login, "expiresAt">, now = Date.now()): boolean {
  return expiresAt !== undefined && expiresAt - MARGIN < now;
}

/** The command that logs in to a server. */
export function loginCommand(name: string): string {
  return `trunkline server login ${/^[\w.-]+$/.test(name) ? name : `'${name}'`}`;
}

interface LoginTokensOptions {
  /** The name of the MCP server in the configuration. */
  readonly name: string;
  readonly store: LoginStore;
  readonly http: OAuthHttp;
  /** Where a person logs in; where it is left out, by a command. */
  readonly page?: string | undefined;
  /** A renewed login could not be stored. */
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

/** A login that is being read, and renewed if its token is the refused one. */
interface LoginRead {
  readonly refused: string | undefined;
  readonly login: Promise<Login | undefined>;
}

/**
 * The tokens of a person's login at one MCP server, for requests to that server. A token that is about to
 * end is renewed first, by one process at a time: a refresh token may be good for one use.
 */
export class LoginTokens implements HttpAuthorization {
  readonly #options: LoginTokensOptions;
  #login: Login | undefined;
  #stamp: string | undefined;
  /** A renewed login that could not be stored, and the access token of the one that it replaces. */
  #unstored: { readonly login: Login; readonly replaces: string | undefined } | undefined;
  #reading: LoginRead | undefined;
  /** The last refusal that only a person can help with, and the token at that time. */
  #refused: { readonly token: string | undefined; readonly why: string } | undefined;

  constructor(options: LoginTokensOptions) {
    this.#options = options;
  }

  token(): string | undefined | Promise<string | undefined> {
    const isCurrent = this.#stamp !== undefined && this.#stamp === this.#options.store.stamp();
    if (isCurrent && (this.#login === undefined || !isExpired(this.#login))) {
      return this.#login?.accessToken;
    }
    return this.#current(undefined).then((login) => login?.accessToken);
  }

  /** Why requests are refused until a person has logged in, in words that complete "it …". */
  async refusal(): Promise<string | undefined> {
    const refused = this.#refused;
    return refused?.token === (await this.token()) ? refused?.why : undefined;
  }

  async refused(refusal: HttpRefusal): Promise<RefusalOutcome> {
    const next = await this.#afterRefusal(refusal);
    this.#refused = "why" in next ? { token: await this.token(), why: next.why } : undefined;
    return next;
  }

  async #afterRefusal({ status, challenge, token }: HttpRefusal): Promise<RefusalOutcome> {
    const { name, store, page } = this.#options;
    const command = page ?? `\`${loginCommand(name)}\``;
    const [run, by] = page === undefined ? ["Run", "with"] : ["Open", "at"];
    const said = bearerChallenge(challenge);
    if (status === 403) {
      // MCP 2025-11-25, basic/authorization § Scope Challenge: a wider token takes a new login.
      const granted = (await store.read())?.scopes ?? [];
      await store.want(unionOf(granted, said?.scopes ?? []));
      const missing = (said?.scopes ?? []).filter((scope) => !granted.includes(scope)).join(" ");
      const what = missing === "" ? "more than your login permits" : `the scope ${missing}`;
      return { why: `wants ${what} (403). Log in again ${by} ${command}, then repeat this` };
    }
    const before = await store.state();
    const login = await this.#current(token);
    if (login !== undefined && login.accessToken !== token) return { token: login.accessToken };
    if (token !== undefined && login !== undefined) {
      const why = "answered 401: it does not accept the token of your login";
      return { why: `${why} at ${login.issuer}. Log in again ${by} ${command}` };
    }
    const { ended = before.ended } = await store.state();
    if (ended !== undefined)
      return { why: `wants a new login: the last has ended (${ended}). ${run} ${command}` };
    return { why: `wants a login (401). ${run} ${command}` };
  }

  /** The current login. It is renewed if its token was refused or has expired. */
  #current(refused: string | undefined): Promise<Login | undefined> {
    const known = this.#reading;
    if (known === undefined) {
      const login = this.#read(refused).finally(() => (this.#reading = undefined));
      this.#reading = { refused, login };
      return login;
    }
    if (refused === undefined || refused === known.refused) return known.login;
    // This read began before the refusal, so it may return the refused token.
    return known.login.then((login) => {
      return login?.accessToken === refused ? this.#current(refused) : login;
    });
  }

  async #read(refused: string | undefined): Promise<Login | undefined> {
    const { store } = this.#options;
    const isUsable = (login: Login | undefined): boolean =>
      login === undefined || (login.accessToken !== refused && !isExpired(login));
    this.#stamp = store.stamp();
    this.#login = this.#newest(await store.read());
    const isStored = this.#unstored === undefined;
    if (isUsable(this.#login) && isStored) return this.#login;
    if (this.#login?.refreshToken === undefined) return this.#login;
    return await store.alone(async () => {
      // Another process may have renewed it in the meantime.
      const stored = await store.read();
      const known = this.#newest(stored);
      this.#login = isUsable(known) || known === undefined ? known : await this.#renew(known);
      if (this.#login !== undefined && this.#login !== stored) {
        await this.#store(this.#login, stored?.accessToken);
      }
      this.#stamp = store.stamp();
      return this.#login;
    });
  }

  /**
   * The stored login, unless we have renewed it and could not store the new one: the stored refresh token is
   * then spent.
   */
  #newest(stored: Login | undefined): Login | undefined {
    if (this.#unstored?.replaces !== stored?.accessToken) this.#unstored = undefined;
    return this.#unstored?.login ?? stored;
  }

  /** Undefined if the login has ended. */
  async #renew(login: Login): Promise<Login | undefined> {
    const { store, http } = this.#options;
    try {
      return await renewLogin(login, http);
    } catch (error) {
      if (!(error instanceof LoginEnded)) throw error;
      this.#unstored = undefined;
      await store.remove({ issuer: login.issuer, wanted: login.scopes, ended: error.message });
      return undefined;
    }
  }

  /** This process goes on if it cannot be stored, and tries again with the next renewal. */
  async #store(login: Login, replaces: string | undefined): Promise<void> {
    const { store, report } = this.#options;
    try {
      await store.write(login);
      this.#unstored = undefined;
    } catch (error) {
      this.#unstored = { login, replaces };
      report("upstream.login-not-stored", { error });
    }
  }
}
