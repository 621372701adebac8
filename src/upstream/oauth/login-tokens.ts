import type { AfterRefusal, HttpAuthorization, HttpRefusal } from "../http/http-authorization.ts";
import { bearerChallenge, unionOf } from "./challenge.ts";
import { isExpired, type Login, loginCommand, type LoginStore } from "./login.ts";
import { LoginEnded, renewLogin } from "./token-requests.ts";
import type { OAuthHttp } from "./oauth-http.ts";

export interface LoginTokensOptions {
  /** The name of the MCP server in the configuration. */
  readonly name: string;
  readonly store: LoginStore;
  readonly http: OAuthHttp;
  /** A renewed login could not be stored. */
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

/**
 * The tokens of a person's login at one MCP server, for requests to that server. A token that is about to
 * end is renewed first, by one process at a time: a refresh token may be good for one use.
 */
export class LoginTokens implements HttpAuthorization {
  readonly #options: LoginTokensOptions;
  #login: Login | undefined;
  #stamp: string | undefined;
  #under: Promise<Login | undefined> | undefined;

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

  async refused({ status, challenge, token }: HttpRefusal): Promise<AfterRefusal> {
    const { name, store } = this.#options;
    const command = `\`${loginCommand(name)}\``;
    const said = bearerChallenge(challenge);
    if (status === 403) {
      // MCP 2025-11-25, basic/authorization § Scope Challenge: a wider token takes a new login.
      const granted = (await store.read())?.scopes ?? [];
      await store.want(unionOf(granted, said?.scopes ?? []));
      const missing = (said?.scopes ?? []).filter((scope) => !granted.includes(scope)).join(" ");
      const what = missing === "" ? "more than your login permits" : `the scope ${missing}`;
      return { why: `wants ${what} (403). Log in again with ${command}, then repeat this` };
    }
    const before = await store.state();
    const login = await this.#current(token);
    if (login !== undefined && login.accessToken !== token) return { token: login.accessToken };
    if (token !== undefined && login !== undefined) {
      const why = "answered 401: it does not accept the token of your login";
      return { why: `${why} at ${login.issuer}. Log in again with ${command}` };
    }
    const { ended = before.ended } = await store.state();
    if (ended !== undefined)
      return { why: `wants a new login: the last has ended (${ended}). Run ${command}` };
    return { why: `wants a login (401). Run ${command}` };
  }

  /** The login as it is now; one whose token is the refused one, or has ended, is renewed. */
  #current(refused: string | undefined): Promise<Login | undefined> {
    this.#under ??= this.#read(refused).finally(() => {
      this.#under = undefined;
    });
    return this.#under;
  }

  async #read(refused: string | undefined): Promise<Login | undefined> {
    const { store } = this.#options;
    const isUsable = (login: Login | undefined): boolean =>
      login === undefined || (login.accessToken !== refused && !isExpired(login));
    this.#stamp = store.stamp();
    this.#login = await store.read();
    if (isUsable(this.#login) || this.#login?.refreshToken === undefined) return this.#login;
    return await store.alone(async () => {
      // Another process may have renewed it in the meantime.
      const known = await store.read();
      this.#login = isUsable(known) || known === undefined ? known : await this.#renew(known);
      this.#stamp = store.stamp();
      return this.#login;
    });
  }

  async #renew(login: Login): Promise<Login | undefined> {
    const { store, http, report } = this.#options;
    let renewed: Login;
    try {
      renewed = await renewLogin(login, http);
    } catch (error) {
      if (!(error instanceof LoginEnded)) throw error;
      await store.remove({ issuer: login.issuer, wanted: login.scopes, ended: error.message });
      return undefined;
    }
    try {
      await store.write(renewed);
    } catch (error) {
      // The old refresh token is spent: this process at least goes on.
      report("upstream.login-not-stored", { error });
    }
    return renewed;
  }
}
