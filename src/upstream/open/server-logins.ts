import { createHash } from "node:crypto";
import { join } from "node:path";

import { parsedJson } from "../../base/check.ts";
import { Lazy } from "../../base/lazy.ts";
import type { Log } from "../../base/log.ts";
import { holdSecrets } from "../../base/text/mask.ts";
import { FileLock } from "../../store/file-lock.ts";
import { RecordFile } from "../../store/record-file.ts";
import { loginsPath } from "../../store/store-files.ts";
import type { SecretName, SecretStore } from "../../store/secret/secret-store.ts";
import { CONFIGURED_AUTHORIZATION, type HttpAuthorization } from "../http/http-exchange.ts";
import {
  type Login,
  type LoginState,
  type LoginStore,
  LoginTokens,
} from "../oauth/login-tokens.ts";
import { OAuthHttp } from "../oauth/oauth-http.ts";
import type { AddressSettings } from "../settings.ts";
import { userKeyFile } from "../../config/locations.ts";
import { openSecretStore } from "../../identity/open/open-secret-store.ts";

export interface ServerLoginsOptions {
  readonly data: string;
  readonly env: NodeJS.ProcessEnv;
  /** Opens the secrets; by default the system's keychain, or an encrypted file where there is none. */
  readonly open?: () => Promise<SecretStore>;
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

  /** The place of the login at a server: for its name and its address, and for no other. */
  of(name: string, server: URL): LoginStore {
    const key = `${name} ${createHash("sha256").update(server.href).digest("hex").slice(0, 16)}`;
    const { data } = this.#options;
    const [states, secrets] = [this.#states, this.#secrets];
    return new StoredLogin({ key, server: server.href, data, states, secrets });
  }

  /** The tokens for requests to a server, whose references are resolved. */
  async tokensFor(name: string, settings: AddressSettings, log: Log): Promise<HttpAuthorization> {
    const isConfigured = Object.keys(settings.headers ?? {}).some((header) => {
      return header.toLowerCase() === "authorization";
    });
    if (isConfigured) return CONFIGURED_AUTHORIZATION;
    const server = new URL(settings.url);
    return new LoginTokens({
      name,
      store: this.of(name, server),
      http: new OAuthHttp({ server, trustsIssuer: settings.oauth?.issuer !== undefined }),
      report: (event, fields) => log.warn(event, fields),
    });
  }
}

interface StoredLoginOptions {
  readonly key: string;
  readonly server: string;
  readonly data: string;
  readonly states: RecordFile<LoginState>;
  readonly secrets: Lazy<SecretStore>;
}

class StoredLogin implements LoginStore {
  readonly #options: StoredLoginOptions;

  constructor(options: StoredLoginOptions) {
    this.#options = options;
  }

  async read(): Promise<Login | undefined> {
    const { issuer, ended } = await this.state();
    // Most servers want no login: their secrets are not looked for.
    if (issuer === undefined || ended !== undefined) return undefined;
    const text = await (await this.#options.secrets.get()).get(this.#name);
    // The error of a parser would quote from the secret.
    const login = parsedJson(text ?? "") as Login | undefined;
    holdSecrets(login);
    return login?.server === this.#options.server && login.issuer === issuer ? login : undefined;
  }

  async write(login: Login): Promise<void> {
    const { issuer, scopes, expiresAt, refreshToken } = login;
    holdSecrets(login);
    await (await this.#options.secrets.get()).set(this.#name, JSON.stringify(login));
    await this.#options.states.change(this.#options.key, (known) => ({
      issuer,
      scopes,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      isRenewed: refreshToken !== undefined,
      ...wantedBeyond(known?.wanted ?? [], scopes),
    }));
  }

  async remove(state?: LoginState): Promise<boolean> {
    const wasThere = await (await this.#options.secrets.get()).remove(this.#name);
    await this.#options.states.change(this.#options.key, () => state);
    return wasThere;
  }

  async state(): Promise<LoginState> {
    return (await this.#options.states.get(this.#options.key)) ?? {};
  }

  /** Bounded, since each change is news to all processes, and a server may name other scopes each time. */
  async want(scopes: readonly string[]): Promise<void> {
    const beyond = (wanted: readonly string[] = []): readonly string[] => {
      const more = scopes.filter((scope) => scope.length <= LONGEST_SCOPE);
      return [...new Set([...wanted, ...more])].slice(0, Math.max(wanted.length, MOST_SCOPES));
    };
    const { wanted = [] } = await this.state();
    if (beyond(wanted).length === wanted.length) return;
    await this.#options.states.change(this.#options.key, (known = {}) => {
      return { ...known, wanted: beyond(known.wanted) };
    });
  }

  stamp(): string {
    return this.#options.states.stamp();
  }

  async alone<T>(work: () => Promise<T>): Promise<T> {
    const path = join(
      this.#options.data,
      `login-${createHash("sha256").update(this.#options.key).digest("hex")}.lock`,
    );
    using _lock = await FileLock.takeBrief(path, LONGEST_RENEWAL);
    return await work();
  }

  get #name(): SecretName {
    return { service: "trunkline.logins", account: this.#options.key };
  }
}

/** Scopes that the server wants and that a login does not have. */
function wantedBeyond(
  wanted: readonly string[],
  scopes: readonly string[],
): Pick<LoginState, "wanted"> {
  return wanted.some((scope) => !scopes.includes(scope)) ? { wanted } : {};
}
