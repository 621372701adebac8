import { createHash } from "node:crypto";
import { join } from "node:path";

import { parsedJson } from "../../base/check.ts";
import { Lazy } from "../../base/lazy.ts";
import type { Log } from "../../base/log.ts";
import { holdSecrets } from "../../base/text/mask.ts";
import { AuditLog } from "../../store/audit/audit-log.ts";
import { FileLock } from "../../store/file-lock.ts";
import { RecordFile } from "../../store/record-file.ts";
import { loginsPath } from "../../store/store-files.ts";
import { ownerOf } from "../../store/access/access-token.ts";
import type { AccessToken } from "../../store/schema.gen.ts";
import type { SecretName, SecretStore } from "../../store/secret/secret-store.ts";
import { CONFIGURED_AUTHORIZATION, type HttpAuthorization } from "../http/http-exchange.ts";
import {
  type Login,
  type LoginState,
  type LoginStore,
  LoginTokens,
} from "../oauth/login-tokens.ts";
import { OAuthHttp, revokeLogin } from "../oauth/oauth-http.ts";
import {
  type AddressSettings,
  hasAuthorization,
  identityProviderOf,
  isPersonal,
} from "../settings.ts";
import { userKeyFile } from "../../config/locations.ts";
import { BEARER_PREFIX, OWNER } from "../../base/principal.ts";
import { openSecretStore } from "../../identity/open/open-secret-store.ts";

export interface ServerLoginsOptions {
  readonly data: string;
  readonly env: NodeJS.ProcessEnv;
  /** Opens the secrets; by default the system's keychain, or an encrypted file where there is none. */
  readonly open?: () => Promise<SecretStore>;
}

/** A person's own login at a server. */
export interface PersonLogin extends LoginState {
  readonly key: string;
  readonly person: string;
}

/** A login in words, for its person and for the owner. */
export function shownLogin(login: PersonLogin) {
  const { person, name: server = "", issuer = "" } = login;
  // Who has tokens is known by `--person`, or by the token's id.
  const who = person === OWNER.id ? "owner" : person.replace(BEARER_PREFIX, "");
  return { person: who, server, state: loginWords(login), issuer };
}

/** The state of a login in a few words; empty if nobody has logged in. */
export function loginWords({ issuer, ended, wanted, expiresAt, isRenewed }: LoginState): string {
  if (ended !== undefined) return "ended";
  if (issuer === undefined) return "";
  if (isRenewed !== true && expiresAt !== undefined && expiresAt < Date.now()) return "expired";
  return wanted === undefined ? "logged in" : "logged in, wants more";
}

/** Milliseconds that a process may take to renew a login while others wait. */
const LONGEST_RENEWAL = 30_000;

/** Scopes that a server may ask for in vain, and the characters of each. */
const MOST_SCOPES = 100;
const LONGEST_SCOPE = 256;

/** The logins at MCP servers. Their tokens are secrets; the rest is in a plain file. */
export class ServerLogins {
  readonly #options: ServerLoginsOptions;
  readonly #states: RecordFile<LoginState>;
  readonly #secrets: Lazy<SecretStore>;

  constructor(options: ServerLoginsOptions) {
    const { data, env } = options;
    this.#options = options;
    this.#states = new RecordFile(loginsPath(data));
    const open = (): Promise<SecretStore> =>
      openSecretStore({ env, file: join(data, "logins.enc"), keyFile: userKeyFile(env) });
    this.#secrets = new Lazy(options.open ?? open);
  }

  /** Where tokens are stored, for people. */
  async place(): Promise<string> {
    return (await this.#secrets.get()).describe;
  }

  /** The place of the login that all share at a server: for its name and its address, and for no other. */
  of(name: string, server: URL): LoginStore {
    return this.#at(`${name} ${hashOf(server.href).slice(0, 16)}`, server);
  }

  /**
   * The place of a person's own login at the server or at the identity provider that speaks for the person
   * there, or of the login which all share, as the settings say.
   */
  ofCaller(person: string, name: string, settings: AddressSettings): LoginStore {
    const { url } = settings;
    const provider = identityProviderOf(settings);
    if (provider !== undefined) {
      const { issuer, clientId } = provider;
      const key = hashOf(JSON.stringify([person, issuer, clientId]));
      return this.#at(key, new URL(issuer), { person, name: issuer });
    }
    return isPersonal(settings)
      ? this.ofPerson(person, name, settings)
      : this.of(name, new URL(url));
  }

  /** The place of a person's own login: for the server's name, its address and the configured issuer. */
  ofPerson(person: string, name: string, { url, oauth }: AddressSettings): LoginStore {
    const server = new URL(url);
    const key = hashOf(JSON.stringify([person, name, server.href, oauth?.issuer]));
    return this.#at(key, server, { person, name });
  }

  /** The logins of people, also at servers that are configured no more. */
  async listOf(): Promise<PersonLogin[]> {
    const all = Object.entries(await this.#states.all());
    return all.flatMap(([key, state]) => {
      const { person } = state;
      return person === undefined ? [] : [{ ...state, key, person }];
    });
  }

  /**
   * Ends the logins of people who came by access tokens and have none of these left. `by` is who has revoked
   * one. Returns what `end` does.
   */
  async endTokenless(left: readonly AccessToken[], by: string): Promise<string[]> {
    const people = new Set(left.map(ownerOf));
    const isGone = ({ person }: PersonLogin): boolean =>
      person.startsWith(BEARER_PREFIX) && !people.has(person);
    const gone = (await this.listOf()).filter(isGone);
    return gone.length === 0 ? [] : await this.end(gone, by);
  }

  /** Ends logins here and at their issuers. Returns why tokens may stay valid there until they expire. */
  async end(logins: readonly PersonLogin[], by: string): Promise<string[]> {
    using audit = new AuditLog(this.#options.data);
    const problems: string[] = [];
    for (const { key, person, name: server } of logins) {
      const store = this.#at(key, new URL("http://localhost"));
      const end = async (): Promise<void> => {
        const text = await (await this.#secrets.get()).get({ service: SERVICE, account: key });
        const login = parsedJson(text ?? "") as Login | undefined;
        if (login !== undefined) {
          const http = new OAuthHttp({ server: new URL(login.server), trustsIssuer: false });
          const why = await revokeLogin(login, http).then(
            (isDone) => (isDone ? undefined : "it cannot end tokens"),
            (error: Error) => error.message,
          );
          if (why !== undefined) problems.push(`${login.issuer}: ${why}`);
        }
        await store.remove();
      };
      try {
        await store.alone(end);
      } catch (error) {
        problems.push(`${server} of ${person}: ${(error as Error).message}`);
        continue;
      }
      const time = new Date().toISOString();
      audit.record({ time, event: "login-ended", person, server, by });
    }
    return problems;
  }

  #at(key: string, server: URL, whose: Pick<LoginState, "person" | "name"> = {}): LoginStore {
    const { data } = this.#options;
    const [states, secrets] = [this.#states, this.#secrets];
    return storedLogin({ key, server: server.href, whose, data, states, secrets });
  }

  /** The tokens for requests to a server, whose references are resolved. */
  tokensFor(name: string, settings: AddressSettings, log: Log): HttpAuthorization {
    if (hasAuthorization(settings)) return CONFIGURED_AUTHORIZATION;
    return this.tokensAt(this.of(name, new URL(settings.url)), name, settings, log);
  }

  /** The tokens of the login in a place. `page` is where a person logs in. */
  tokensAt(
    store: LoginStore,
    name: string,
    settings: AddressSettings,
    log: Log,
    page?: string,
  ): LoginTokens {
    const server = new URL(settings.url);
    return new LoginTokens({
      name,
      store,
      page,
      http: new OAuthHttp({ server, trustsIssuer: settings.oauth?.issuer !== undefined }),
      report: (event, fields) => log.warn(event, fields),
    });
  }
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const SERVICE = "trunkline.logins";

interface StoredLoginOptions {
  readonly key: string;
  readonly server: string;
  /** Stored with the public part of the login. */
  readonly whose: Pick<LoginState, "person" | "name">;
  readonly data: string;
  readonly states: RecordFile<LoginState>;
  readonly secrets: Lazy<SecretStore>;
}

function storedLogin(options: StoredLoginOptions): LoginStore {
  const { key, server, whose, data, states, secrets } = options;
  const name: SecretName = { service: SERVICE, account: key };
  const state = async (): Promise<LoginState> => (await states.get(key)) ?? {};
  return {
    state,

    async read() {
      const { issuer, ended } = await state();
      // Most servers want no login: their secrets are not looked for.
      if (issuer === undefined || ended !== undefined) return undefined;
      const text = await (await secrets.get()).get(name);
      // The error of a parser would quote from the secret.
      const login = parsedJson(text ?? "") as Login | undefined;
      holdSecrets(login);
      return login?.server === server && login.issuer === issuer ? login : undefined;
    },

    async write(login) {
      const { issuer, scopes, expiresAt, refreshToken } = login;
      holdSecrets(login);
      await (await secrets.get()).set(name, JSON.stringify(login));
      await states.change(key, (known) => ({
        ...{ ...whose, issuer, scopes, isRenewed: refreshToken !== undefined },
        ...(expiresAt === undefined ? {} : { expiresAt }),
        ...wantedBeyond(known?.wanted ?? [], scopes),
      }));
    },

    async remove(left) {
      const wasThere = await (await secrets.get()).remove(name);
      await states.change(key, () => left && { ...whose, ...left });
      return wasThere;
    },

    /**
     * Bounded, because all processes are notified of each change, and a server may name other scopes each time.
     */
    async want(scopes) {
      const beyond = (wanted: readonly string[] = []): readonly string[] => {
        const more = scopes.filter((scope) => scope.length <= LONGEST_SCOPE);
        return [...new Set([...wanted, ...more])].slice(0, Math.max(wanted.length, MOST_SCOPES));
      };
      const { wanted = [] } = await state();
      if (beyond(wanted).length === wanted.length) return;
      await states.change(key, (known = {}) => {
        return { ...whose, ...known, wanted: beyond(known.wanted) };
      });
    },

    stamp: () => states.stamp(),

    async alone(work) {
      const path = join(data, `login-${hashOf(key)}.lock`);
      using _lock = await FileLock.takeBrief(path, LONGEST_RENEWAL);
      return await work();
    },
  };
}

/** Scopes that the server wants and that a login does not have. */
function wantedBeyond(
  wanted: readonly string[],
  scopes: readonly string[],
): Pick<LoginState, "wanted"> {
  return wanted.some((scope) => !scopes.includes(scope)) ? { wanted } : {};
}
