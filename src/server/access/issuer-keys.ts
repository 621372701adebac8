import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";

import { boundedBody } from "../../base/bounded-body.ts";
import { TrunklineError } from "../../base/errors.ts";
import { isSafeUrl } from "./serving.ts";

/** Milliseconds after which keys are fetched again. */
const FRESH = 10 * 60_000;
/** Milliseconds for which old keys are used while new ones cannot be fetched. */
const USABLE = 60 * 60_000;
/** An unknown key may be a new one, so keys are fetched for it, but not more often than this. */
const COOLDOWN = 30_000;
/** Milliseconds after a failed fetch in which no other is tried: callers fail at once. */
const PAUSE = 5_000;

export interface IssuerKeysOptions {
  readonly fetch?: typeof fetchJson;
  readonly now?: () => number;
}

/** The public keys of one authorization server. */
export function issuerKeys(
  issuer: string,
  { fetch = fetchJson, now = () => performance.now() }: IssuerKeysOptions = {},
): JWTVerifyGetKey {
  let keys: ReturnType<typeof createLocalJWKSet> | undefined;
  let fetchedAt = -Infinity;
  let failedAt = -Infinity;
  let fetching: Promise<void> | undefined;

  async function current(): Promise<ReturnType<typeof createLocalJWKSet>> {
    if (now() - fetchedAt > FRESH) await refresh();
    if (keys === undefined || now() - fetchedAt > USABLE) {
      const why = `Cannot get the keys of '${issuer}': try again later`;
      throw new TrunklineError("unavailable", why);
    }
    return keys;
  }

  /** Concurrent callers share one fetch. */
  async function refresh(): Promise<void> {
    if (now() - failedAt < PAUSE) return;
    fetching ??= load().finally(() => (fetching = undefined));
    await fetching;
  }

  async function load(): Promise<void> {
    try {
      const jwks = await fetch(await findKeysUrl(issuer, fetch));
      keys = createLocalJWKSet(jwks as unknown as JSONWebKeySet);
      fetchedAt = now();
    } catch {
      failedAt = now();
    }
  }

  /** The key that a token says it was signed with. Throws "unavailable" where there are no keys. */
  return async (header, token) => {
    const known = await current();
    try {
      return await known(header, token);
    } catch (error) {
      const isNew = now() - fetchedAt < COOLDOWN;
      if (!(error instanceof errors.JWKSNoMatchingKey) || isNew) throw error;
    }
    await refresh();
    return (await current())(header, token);
  };
}

/**
 * The address of an authorization server's keys, from its metadata. Rejects where there is none.
 */
export async function findKeysUrl(issuer: string, fetch = fetchJson): Promise<string> {
  let failure: unknown;
  for (const url of metadataUrls(issuer)) {
    try {
      const { issuer: named, jwks_uri: keys } = await fetch(url);
      // RFC 8414, section 3.3: metadata whose issuer is another must not be used.
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

const PATIENCE = 5_000;
/** Bytes; keys and metadata are far smaller. */
const LARGEST = 512 * 1024;

/** Fetches a JSON object. Rejects what is too slow, too large, or not an object. */
export async function fetchJson(url: string): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, {
    headers: { accept: "application/json" },
    // A redirect must not decide where keys come from.
    redirect: "error",
    signal: AbortSignal.timeout(PATIENCE),
  });
  const value: unknown = JSON.parse(await boundedText(response));
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${url} answered with something that is not an object`);
  }
  return value as Readonly<Record<string, unknown>>;
}

async function boundedText(response: Response): Promise<string> {
  const { body, url, ok, status } = response;
  if (!ok || body === null) {
    await body?.cancel();
    throw new Error(`${url} answered ${status}`);
  }
  const read = await boundedBody(body, LARGEST);
  if (read.isCut) throw new Error(`${url} answered with more than ${LARGEST} bytes`);
  return read.body.toString();
}
