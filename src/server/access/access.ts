import type { IncomingMessage } from "node:http";
import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import {
  ANYONE,
  BEARER_PREFIX,
  OAUTH_PREFIX,
  OWNER,
  type Principal,
} from "../../base/principal.ts";
import type { Authorization } from "../../protocol/mcp/serve/http/options.ts";
import { ownerOf, TOKEN_PREFIX, type OwnerToken } from "../../store/access/access-token.ts";
import type { AccessTokens } from "../../store/access/access-tokens.ts";
import type { BrowserLogins } from "./browser-logins.ts";
import type { Verdict } from "./jwt-verifier.ts";
import type { Proof } from "./admission.ts";
import { isLocal } from "./refuse-foreign.ts";
import type { ServePlan } from "./serving.ts";
import type { Verifications } from "./verifications.ts";
import { isIPv6 } from "node:net";

/** An authenticated caller, and how long that holds. */
export interface AdmittedCaller {
  readonly principal: Principal;
  /** The token or cookie; connections that were opened with it are closed once it is not valid. */
  readonly proof?: Proof;
  /** When this is no longer valid, the work that the caller started ends, too. */
  readonly standing?: Proof;
}
export type AccessRefusal = Exclude<Authorization, { principal: Principal }>;

/** Milliseconds between two log lines about tokens that cannot be verified. */
const TELL_EVERY = 60_000;
/**
 * Milliseconds for which work goes on after the signed token that started it has expired. Such tokens
 * live for minutes, and clients refresh them when they come back.
 */
const RENEWAL = 60_000;

export interface AccessOptions {
  readonly serving: ServePlan;
  readonly owner: OwnerToken;
  readonly tokens: AccessTokens;
  readonly logins: BrowserLogins;
  readonly log: Log;
  /** Keeps a token of an authorization server for who it is from, while it is good. */
  readonly keep?: (principal: string, token: string, until: number) => void;
  /** Verifies tokens of authorization servers. */
  readonly verifications?: Verifications | undefined;
  readonly attempts?: FailedAttempts;
}

/** Authenticates requests: by the owner's token, an access token, a signed token or a cookie. */
export function accessBy(options: AccessOptions) {
  const { serving, owner, tokens, logins, verifications } = options;
  const { attempts = new FailedAttempts() } = options;
  let toldAt = -Infinity;

  /** `takesRaw` allows a token without a scheme. */
  async function admit(
    request: IncomingMessage,
    takesRaw = false,
  ): Promise<AdmittedCaller | AccessRefusal> {
    const bearer = readBearer(request, takesRaw);
    if (bearer === "unreadable") return challenged("Send one token: Authorization: Bearer …");
    try {
      if (bearer === undefined) return admitWithout(request);
      const { token } = bearer;
      if (token.startsWith(TOKEN_PREFIX)) return useOwn(token, request);
      // Every token is verified, however many wrong ones came from the same address: the address may be
      // a proxy's, and this token good.
      const verdict = await verifications?.verify(token);
      const admitted = judged(verdict, request);
      if ("principal" in admitted && verdict?.kind === "valid") {
        options.keep?.(admitted.principal.id, token, verdict.until);
      }
      return admitted;
    } catch (error) {
      return unsure(error);
    }
  }

  /** A browser has a cookie instead of a token. */
  function admitWithout(request: IncomingMessage): AdmittedCaller | AccessRefusal {
    const login = logins.find(request);
    if (login !== undefined) {
      const proof = { key: `login ${login}`, isLive: () => logins.isLive(login) };
      return { ...admitOwner(owner.mark ?? ""), proof };
    }
    const isFree = serving.noAuth && isLocal(request.headers);
    return isFree ? { principal: ANYONE } : challenged(missing(request));
  }

  function useOwn(token: string, request: IncomingMessage): AdmittedCaller | AccessRefusal {
    const mark = owner.match(token);
    if (mark !== undefined) return admitOwner(mark);
    const found = tokens.use(token);
    if (found === undefined) return fail(request, "it was never valid, or no longer is");
    const { id, name, scopes, limits, profile } = found;
    const proof = { key: `${BEARER_PREFIX}${id}`, isLive: () => tokens.isLive(id) };
    const person = ownerOf(found);
    const principal = defined<Principal>({ id: proof.key, name, scopes, person, limits, profile });
    return { principal, proof, standing: proof };
  }

  /** The owner, until the owner's token changes. */
  function admitOwner(mark: string): AdmittedCaller {
    const proof = { key: `owner ${mark}`, isLive: () => owner.mark === mark };
    return { principal: OWNER, proof, standing: proof };
  }

  function judged(
    verdict: Verdict | undefined,
    request: IncomingMessage,
  ): AdmittedCaller | AccessRefusal {
    switch (verdict?.kind) {
      case "valid": {
        const { issuer, subject, until } = verdict;
        const key = `${OAUTH_PREFIX}${issuer} ${subject}`;
        return {
          principal: {
            id: key,
            // No token of our own can have this name.
            name: `${subject}@${new URL(issuer).host}`,
            scopes: serving.oauth?.grants ?? [],
          },
          proof: { key: `${key} ${until}`, isLive: () => until > Date.now() },
          standing: { key, isLive: () => until + RENEWAL > Date.now(), until },
        };
      }
      case "insufficient":
        return insufficient();
      case "invalid":
      case undefined:
        return fail(request, verdict?.why ?? "it is not one of this server");
    }
  }

  function fail(request: IncomingMessage, why: string): AccessRefusal {
    // The address of the socket: `X-Forwarded-For` can be forged.
    const address = request.socket.remoteAddress ?? "";
    const wait = attempts.wait(address);
    if (wait > 0) return tooMany(wait);
    const count = attempts.add(address);
    // Once in a window, so that thousands of wrong tokens do not fill the log.
    if (count === 1) options.log.warn("access.refused", { address, why });
    const description = `The token is not accepted: ${why}`;
    return challenged(description, { error: "invalid_token", description });
  }

  /** A token that cannot be verified now is refused. */
  function unsure(error: unknown): AccessRefusal {
    if (performance.now() - toldAt > TELL_EVERY) {
      toldAt = performance.now();
      options.log.error("access.unknown", { error });
    }
    const message = "Cannot tell who you are: try again later";
    return { status: 503, message, headers: { "retry-after": "5" } };
  }

  function insufficient(): AccessRefusal {
    const scopes = serving.oauth?.scopes ?? [];
    const message = `The token lacks a scope: it needs ${scopes.join(" ")}`;
    return { ...challenged(message, { error: "insufficient_scope" }), status: 403 };
  }

  function challenged(message: string, more: Parameters<typeof challenge>[0] = {}): AccessRefusal {
    const { oauth } = options.serving;
    const header = challenge({
      ...more,
      scopes: oauth?.scopes ?? [],
      metadataUrl: oauth?.metadataUrl,
    });
    return { status: 401, message, headers: { "www-authenticate": header } };
  }

  return { admit };
}

function tooMany(seconds: number): AccessRefusal {
  const message = "Too many wrong tokens have come from your address: try again later";
  return { status: 429, message, headers: { "retry-after": String(seconds) } };
}

function missing({ url = "" }: IncomingMessage): string {
  if (/[?&](?:access_)?token=/i.test(url)) {
    return "A token in the address is ignored: send it as Authorization: Bearer …";
  }
  return (
    "An access token is needed, on this machine too: Authorization: Bearer …. The owner's is in " +
    "the file that `trunkline serve` names; `trunkline token create` makes others. For a browser, " +
    "run `trunkline open`."
  );
}

/** `b64token` of RFC 6750, section 2.1. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** The token alone, as clients of the remote run server guide send it. */
const RAW = /^ *([A-Za-z0-9\-._~+/]+=*) *$/;

/**
 * The token of a request: undefined where it has none, "unreadable" where that is not a token.
 * `takesRaw` where it may come without a scheme.
 */
export function readBearer(
  { headers: { authorization } }: Pick<IncomingMessage, "headers">,
  takesRaw = false,
): { token: string } | "unreadable" | undefined {
  if (authorization === undefined) return undefined;
  const match = BEARER.exec(authorization) ?? (takesRaw ? RAW.exec(authorization) : null);
  const token = match?.[1];
  return token === undefined ? "unreadable" : { token };
}

export interface Challenge {
  readonly error?: "invalid_token" | "insufficient_scope";
  readonly description?: string;
  readonly scopes?: readonly string[];
  /** The address of the protected resource metadata (RFC 9728), which names the authorization servers. */
  readonly metadataUrl?: string | undefined;
}

/** `WWW-Authenticate`: RFC 6750, section 3, and RFC 9728, section 5.1. */
export function challenge({ error, description, scopes = [], metadataUrl }: Challenge): string {
  const parts = {
    realm: "trunkline",
    error,
    error_description: description,
    scope: scopes.length === 0 ? undefined : scopes.join(" "),
    resource_metadata: metadataUrl,
  };
  const told = Object.entries(defined(parts)).map(([name, value]) => `${name}="${value}"`);
  return `Bearer ${told.join(", ")}`;
}

/** Wrong tokens that one address may send in a window. */
const LIMIT = 20;
const WINDOW = 60_000;
/** The most addresses that are counted; then the oldest windows are dropped. */
const MOST = 10_000;

/** How often each address has sent a wrong token lately. */
export class FailedAttempts {
  readonly #now: () => number;
  /** In the order in which their windows began. */
  readonly #addresses = new Map<string, { count: number; readonly until: number }>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get size(): number {
    return this.#addresses.size;
  }

  /** Seconds until an address may try again; 0 when it may. */
  wait(address: string): number {
    const known = this.#addresses.get(keyOf(address));
    if (known === undefined || known.count < LIMIT) return 0;
    return Math.max(0, Math.ceil((known.until - this.#now()) / 1000));
  }

  /** Counts one that failed. Returns how many there were in this window. */
  add(address: string): number {
    const now = this.#now();
    for (const [key, { until }] of this.#addresses) {
      if (until > now && this.#addresses.size < MOST) break;
      this.#addresses.delete(key);
    }
    const key = keyOf(address);
    const known = this.#addresses.get(key);
    if (known !== undefined) return ++known.count;
    this.#addresses.set(key, { count: 1, until: now + WINDOW });
    return 1;
  }
}

/** RFC 4291, section 2.5.1: a network has 64 bits of addresses, so IPv6 is counted by network. */
function keyOf(address: string): string {
  if (!isIPv6(address) || address.includes(".")) return address;
  const [head = "", tail] = address.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0");
  return [...front, ...(tail === undefined ? [] : zeros), ...back].slice(0, 4).join(":");
}
