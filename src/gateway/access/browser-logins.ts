import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";

import { hashToken } from "../../store/access/access-token.ts";
import type { OwnerToken } from "../../store/access/owner-token.ts";
import { isLoopbackAuthority } from "../http/loopback.ts";
import { isFromOtherUser } from "./peer-user.ts";
import { isOwnOrigin, type OwnAddress } from "./refuse-foreign.ts";

/** Milliseconds after which a browser has to log in again. */
const GOOD_FOR = 12 * 60 * 60_000;
/** Browsers that are logged in at once; one more logs out the oldest. */
const MOST = 100;

interface Login {
  readonly until: number;
  /** The owner's token when it was made: a new one logs out every browser. */
  readonly mark: string | undefined;
  /** It was made under a loopback name, under which other users may have servers, too. */
  readonly isLocal: boolean;
}

export interface BrowserLoginsOptions {
  readonly owner: OwnerToken;
  /** The server as it is reached; known once it listens. */
  readonly own: () => OwnAddress;
  /** The origin that others reach the server by, where that is another. */
  readonly publicOrigin: string | undefined;
  readonly now?: () => number;
}

/** The browsers that the owner has logged in, known by a cookie. They are kept in memory only. */
export class BrowserLogins {
  readonly #options: BrowserLoginsOptions;
  readonly #now: () => number;
  /** By the hash of the cookie, the oldest first. */
  readonly #logins = new Map<string, Login>();

  constructor(options: BrowserLoginsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Logs in the browser that sent the request. Returns its `Set-Cookie` header. */
  begin(request: IncomingMessage): string {
    for (const key of this.#logins.keys()) {
      if (this.#logins.size < MOST) break;
      this.#logins.delete(key);
    }
    const secret = randomBytes(32).toString("base64url");
    const { owner, own } = this.#options;
    const isLocal = isOfThisMachine(request);
    const until = this.#now() + GOOD_FOR;
    this.#logins.set(hashToken(secret), { until, mark: owner.mark, isLocal });
    // Behind a proxy that terminates TLS, only the browser's origin tells.
    const isSecure = own().scheme === "https" || request.headers.origin?.startsWith("https:");
    const parts = [`${this.#name}=${secret}`, "Path=/", "HttpOnly", "SameSite=Strict"];
    parts.push(`Max-Age=${GOOD_FOR / 1000}`, ...(isSecure === true ? ["Secure"] : []));
    return parts.join("; ");
  }

  /** The key of a valid login that a request has; undefined where it has none. */
  find(request: IncomingMessage): string | undefined {
    const secret = this.#cookieOf(request);
    if (secret === undefined || !this.#isOfOwnPage(request)) return undefined;
    const key = hashToken(secret);
    if (!this.isLive(key)) return undefined;
    const isLocal = this.#logins.get(key)?.isLocal;
    if (isLocal !== isOfThisMachine(request)) return undefined;
    return isFromOtherUser(request) ? undefined : key;
  }

  isLive(key: string): boolean {
    const login = this.#logins.get(key);
    if (login === undefined) return false;
    const { owner } = this.#options;
    if (login.until > this.#now() && login.mark === owner.mark) return true;
    this.#logins.delete(key);
    return false;
  }

  /**
   * Logs out the browser that sent a request. Returns the `Set-Cookie` header that removes the
   * cookie.
   */
  end(request: IncomingMessage): string {
    const secret = this.#cookieOf(request);
    if (secret !== undefined) this.#logins.delete(hashToken(secret));
    return `${this.#name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;
  }

  /** RFC 6265, section 8.5: cookies are not isolated by port, so the name has the port. */
  get #name(): string {
    return `trunkline_${this.#options.own().port}`;
  }

  #cookieOf({ headers: { cookie = "" } }: IncomingMessage): string | undefined {
    const start = `${this.#name}=`;
    const parts = cookie.split(";").map((part) => part.trim());
    return parts.find((part) => part.startsWith(start))?.slice(start.length);
  }

  /**
   * Whether a page of ours made the request, or a person did. Foreign pages were refused before; a
   * browser that sends neither `Origin` nor `Sec-Fetch-Site` may only read.
   */
  #isOfOwnPage({ headers, method }: IncomingMessage): boolean {
    const { origin, host = "", upgrade } = headers;
    const { own, publicOrigin } = this.#options;
    if (headers["sec-fetch-site"] === "same-origin") return true;
    if (origin !== undefined) return origin === publicOrigin || isOwnOrigin(origin, host, own());
    return (method === "GET" || method === "HEAD") && upgrade === undefined;
  }
}

function isOfThisMachine({ headers: { host = "" } }: IncomingMessage): boolean {
  return isLoopbackAuthority(host);
}
