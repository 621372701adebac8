import type { IncomingMessage } from "node:http";

import type { Log } from "../../base/log.ts";
import { ANYONE, OAUTH_PREFIX, OWNER, type Principal } from "../../base/principal.ts";
import type { Authorization } from "../../protocol/mcp/serve/http/options.ts";
import { TOKEN_PREFIX } from "../../store/access/access-token.ts";
import type { AccessTokens } from "../../store/access/access-tokens.ts";
import type { OwnerToken } from "../../store/access/owner-token.ts";
import { challenge, readBearer } from "./bearer.ts";
import type { BrowserLogins } from "./browser-logins.ts";
import { FailedAttempts } from "./failed-attempts.ts";
import type { Verdict } from "./jwt-verifier.ts";
import type { Proof } from "./token-watch.ts";
import { isLocal } from "./refuse-foreign.ts";
import type { Serving } from "./serving.ts";
import type { Verifications } from "./verifications.ts";

/** Somebody who may come in, and whether that is still so later. */
export interface Admitted {
  readonly principal: Principal;
  /** What it came with: what it has open lasts no longer than that is good. */
  readonly proof?: Proof;
  /** What it starts ends with this. */
  readonly standing?: Proof;
}
export type Refused = Exclude<Authorization, { principal: Principal }>;

/** How often it is logged that it cannot be found out who somebody is. */
const TELL_EVERY = 60_000;
/**
 * Milliseconds for which the work of somebody goes on whose signed token has expired. Such tokens
 * live for minutes, and clients get new ones when they come back.
 */
const RENEWAL = 60_000;

export interface AccessOptions {
  readonly serving: Serving;
  readonly owner: OwnerToken;
  readonly tokens: AccessTokens;
  readonly logins: BrowserLogins;
  readonly log: Log;
  /** For tokens that are not ours. */
  readonly verifications?: Verifications | undefined;
  readonly attempts?: FailedAttempts;
}

/** Who may come in: whoever proves who they are, wherever they come from. */
export class Access {
  readonly #options: AccessOptions;
  readonly #attempts: FailedAttempts;
  #toldAt = -Infinity;
  /** The owner as he came last: the same for each request, until there is another token. */
  #admittedOwner: (Admitted & { readonly mark: string }) | undefined;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#attempts = options.attempts ?? new FailedAttempts();
  }

  /** Known at once but for tokens of others. `takesRaw` where a token may come without a scheme. */
  admit(
    request: IncomingMessage,
    takesRaw = false,
  ): Admitted | Refused | Promise<Admitted | Refused> {
    try {
      const found = this.#admit(request, takesRaw);
      return found instanceof Promise
        ? found.catch((error: unknown) => this.#unsure(error))
        : found;
    } catch (error) {
      return this.#unsure(error);
    }
  }

  #admit(
    request: IncomingMessage,
    takesRaw: boolean,
  ): Admitted | Refused | Promise<Admitted | Refused> {
    const bearer = readBearer(request, takesRaw);
    if (bearer === undefined) return this.#admitWithout(request);
    if (bearer === "unreadable") return this.#challenge("Send one token: Authorization: Bearer …");
    const { token } = bearer;
    if (token.startsWith(TOKEN_PREFIX)) return this.#useOwn(token, request);
    return this.#useOther(token, request);
  }

  /** A browser has a cookie instead of a token. */
  #admitWithout(request: IncomingMessage): Admitted | Refused {
    const { logins, serving, owner } = this.#options;
    const login = logins.find(request);
    if (login !== undefined) {
      const proof = { key: `login ${login}`, isLive: () => logins.isLive(login) };
      return { ...this.#owner(owner.mark ?? ""), proof };
    }
    const isFree = serving.noAuth && isLocal(request.headers);
    return isFree ? { principal: ANYONE } : this.#challenge(missing(request));
  }

  #useOwn(token: string, request: IncomingMessage): Admitted | Refused {
    const { owner, tokens } = this.#options;
    const mark = owner.match(token);
    if (mark !== undefined) return this.#owner(mark);
    const found = tokens.use(token);
    if (found === undefined) return this.#fail(request, "it was never valid, or no longer is");
    const { id, name, scopes, limits } = found;
    const proof = { key: `token ${id}`, isLive: () => tokens.isLive(id) };
    const limited = limits === undefined ? {} : { limits };
    return { principal: { id: proof.key, name, scopes, ...limited }, proof, standing: proof };
  }

  /** The owner, until there is another token of the owner's. */
  #owner(mark: string): Admitted {
    const { owner } = this.#options;
    if (this.#admittedOwner?.mark !== mark) {
      const standing = { key: `owner ${mark}`, isLive: () => owner.mark === mark };
      this.#admittedOwner = { principal: OWNER, proof: standing, standing, mark };
    }
    return this.#admittedOwner;
  }

  /**
   * Every token is looked at, however many wrong ones have come from the same address: that may be
   * a proxy, and this token a good one.
   */
  #useOther(
    token: string,
    request: IncomingMessage,
  ): Admitted | Refused | Promise<Admitted | Refused> {
    const verdict = this.#options.verifications?.verify(token);
    if (!(verdict instanceof Promise)) return this.#judged(verdict, request);
    return verdict.then((late) => this.#judged(late, request));
  }

  #judged(verdict: Verdict | undefined, request: IncomingMessage): Admitted | Refused {
    switch (verdict?.kind) {
      case "valid": {
        const { issuer, subject, until } = verdict;
        const key = `${OAUTH_PREFIX}${issuer} ${subject}`;
        return {
          principal: {
            id: key,
            // No token of our own can have this name.
            name: `${subject}@${new URL(issuer).host}`,
            scopes: this.#options.serving.oauth?.grants ?? [],
          },
          proof: { key: `${key} ${until}`, isLive: () => until > Date.now() },
          standing: { key, isLive: () => until + RENEWAL > Date.now(), until },
        };
      }
      case "insufficient":
        return this.#insufficient();
      case "invalid":
      case undefined:
        return this.#fail(request, verdict?.why ?? "it is not one of this server");
    }
  }

  #fail(request: IncomingMessage, why: string): Refused {
    const address = addressOf(request);
    const wait = this.#attempts.wait(address);
    if (wait > 0) return tooMany(wait);
    const count = this.#attempts.add(address);
    // Once in a window: whoever sends thousands is not to fill the log with them.
    if (count === 1) this.#options.log.warn("access.refused", { address, why });
    const description = `The token is not accepted: ${why}`;
    return this.#challenge(description, { error: "invalid_token", description });
  }

  /** Where it cannot be found out who it is, nobody comes in. */
  #unsure(error: unknown): Refused {
    if (performance.now() - this.#toldAt > TELL_EVERY) {
      this.#toldAt = performance.now();
      this.#options.log.error("access.unknown", { error });
    }
    const message = "Cannot tell who you are: try again later";
    return { status: 503, message, headers: { "retry-after": "5" } };
  }

  #insufficient(): Refused {
    const scopes = this.#options.serving.oauth?.scopes ?? [];
    const message = `The token is not good for this: it needs ${scopes.join(" ")}`;
    return { ...this.#challenge(message, { error: "insufficient_scope" }), status: 403 };
  }

  #challenge(message: string, more: Parameters<typeof challenge>[0] = {}): Refused {
    const { oauth } = this.#options.serving;
    const header = challenge({
      ...more,
      scopes: oauth?.scopes ?? [],
      metadataUrl: oauth?.metadataUrl,
    });
    return { status: 401, message, headers: { "www-authenticate": header } };
  }
}

function tooMany(seconds: number): Refused {
  const message = "Too many wrong tokens have come from your address: try again later";
  return { status: 429, message, headers: { "retry-after": String(seconds) } };
}

/** The other end of the connection. What a proxy says of those behind it could be made up. */
function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? "";
}

function missing({ url = "" }: IncomingMessage): string {
  if (/[?&](?:access_)?token=/i.test(url)) {
    return "A token in the address is not looked at: send it as Authorization: Bearer …";
  }
  return (
    "An access token is needed, on this machine too: Authorization: Bearer …. The owner's is in " +
    "the file that `trunkline serve` names; `trunkline token create` makes others. For a browser, " +
    "run `trunkline open`."
  );
}
