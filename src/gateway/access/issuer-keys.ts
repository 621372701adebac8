import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";

import { TrunklineError } from "../../base/errors.ts";
import { fetchJson } from "./fetch-json.ts";
import { isSafeUrl } from "./serving.ts";

/** Keys are fetched again after so long. */
const FRESH = 10 * 60_000;
/** While they cannot be, the old ones are good for so long. */
const USABLE = 60 * 60_000;
/** A key that is not known may be new, but not every moment. */
const COOLDOWN = 30_000;
/** After a failure nobody is kept waiting for another. */
const PAUSE = 5_000;

export interface IssuerKeysOptions {
  readonly fetch?: typeof fetchJson;
  readonly now?: () => number;
}

/** The public keys of one authorization server. */
export class IssuerKeys {
  readonly issuer: string;
  readonly #fetch: typeof fetchJson;
  readonly #now: () => number;
  #keys: ReturnType<typeof createLocalJWKSet> | undefined;
  #fetchedAt = -Infinity;
  #failedAt = -Infinity;
  #fetching: Promise<void> | undefined;

  constructor(issuer: string, options: IssuerKeysOptions = {}) {
    this.issuer = issuer;
    this.#fetch = options.fetch ?? fetchJson;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The key that a token says it was signed with. Throws "unavailable" where there are no keys. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.#current();
    try {
      return await keys(header, token);
    } catch (error) {
      const isNew = this.#now() - this.#fetchedAt < COOLDOWN;
      if (!(error instanceof errors.JWKSNoMatchingKey) || isNew) throw error;
    }
    await this.#refresh();
    return (await this.#current())(header, token);
  };

  async #current(): Promise<ReturnType<typeof createLocalJWKSet>> {
    if (this.#now() - this.#fetchedAt > FRESH) await this.#refresh();
    if (this.#keys === undefined || this.#now() - this.#fetchedAt > USABLE) {
      const why = `Cannot get the keys of '${this.issuer}': try again later`;
      throw new TrunklineError("unavailable", why);
    }
    return this.#keys;
  }

  /** Once at a time, whoever asks. */
  async #refresh(): Promise<void> {
    if (this.#now() - this.#failedAt < PAUSE) return;
    this.#fetching ??= this.#load().finally(() => (this.#fetching = undefined));
    await this.#fetching;
  }

  async #load(): Promise<void> {
    try {
      const jwks = await this.#fetch(await findKeysUrl(this.issuer, this.#fetch));
      this.#keys = createLocalJWKSet(jwks as unknown as JSONWebKeySet);
      this.#fetchedAt = this.#now();
    } catch {
      this.#failedAt = this.#now();
    }
  }
}

/** Where an authorization server has its keys. Rejects where it does not say so. */
export async function findKeysUrl(issuer: string, fetch = fetchJson): Promise<string> {
  let failure: unknown;
  for (const url of metadataUrls(issuer)) {
    try {
      const { issuer: named, jwks_uri: keys } = await fetch(url);
      // RFC 8414, section 3.3: metadata that speaks for another must not be used.
      if (typeof named !== "string" || bare(named) !== bare(issuer)) {
        throw new Error(`${url} speaks for '${String(named)}'`);
      }
      if (typeof keys !== "string" || !isSafeUrl(keys)) {
        throw new Error(`${url} names no keys that can be fetched safely`);
      }
      return keys;
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

/** RFC 8414, section 3.1, then the two ways of OpenID Connect Discovery. */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = bare(pathname);
  const oidc = "/.well-known/openid-configuration";
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${oidc}${path}`,
    `${origin}${path}${oidc}`,
  ];
  return [...new Set(urls)];
}

/** Some write the slash at the end of an issuer, and some do not. */
export function bare(issuer: string): string {
  return issuer.endsWith("/") ? issuer.slice(0, -1) : issuer;
}
