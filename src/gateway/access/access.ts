import type { IncomingMessage } from "node:http";

import type { Log } from "../../base/log.ts";
import type { Authorization } from "../../protocol/mcp/http/options.ts";
import { hashToken, TOKEN_PREFIX } from "../../store/access-token.ts";
import type { AccessTokens } from "../../store/access-tokens.ts";
import { challenge, readBearer } from "./bearer.ts";
import { FailedAttempts } from "./failed-attempts.ts";
import type { JwtVerifier } from "./jwt-verifier.ts";
import { isLocal } from "./refuse-foreign.ts";
import type { Serving } from "./serving.ts";

/** Somebody who may come in, and whether that is still so later. */
export type Admitted = Extract<Authorization, { principal: string }> & {
  readonly isLive?: () => boolean;
};
export type Refused = Exclude<Authorization, { principal: string }>;

/** Tokens of others that were found good lately, and need not be verified for each request. */
const MOST_VERIFIED = 1000;
const VERIFIED_FOR = 60_000;

/** How often it is logged that it cannot be found out who somebody is. */
const TELL_EVERY = 60_000;

const ANYONE: Admitted = { principal: "" };

export interface AccessOptions {
  readonly serving: Serving;
  readonly tokens: AccessTokens;
  readonly log: Log;
  /** Loaded when the first token comes that is not one of ours. */
  readonly loadVerifier?: () => Promise<Pick<JwtVerifier, "verify">>;
  readonly attempts?: FailedAttempts;
}

/** Who may come in. On this machine that is everybody, unless they show a token that is not good. */
export class Access {
  readonly #serving: Serving;
  readonly #tokens: AccessTokens;
  readonly #log: Log;
  readonly #attempts: FailedAttempts;
  readonly #loadVerifier: AccessOptions["loadVerifier"];
  #verifier: Promise<Pick<JwtVerifier, "verify">> | undefined;
  #toldAt = -Infinity;
  /** By the hash of the token, in the order in which they were verified. */
  readonly #verified = new Map<string, { readonly admitted: Admitted; readonly until: number }>();

  constructor(options: AccessOptions) {
    this.#serving = options.serving;
    this.#tokens = options.tokens;
    this.#log = options.log;
    this.#attempts = options.attempts ?? new FailedAttempts();
    this.#loadVerifier = options.loadVerifier;
  }

  /** Known at once but for tokens of others. */
  admit(request: IncomingMessage): Admitted | Refused | Promise<Admitted | Refused> {
    try {
      const found = this.#admit(request);
      return found instanceof Promise
        ? found.catch((error: unknown) => this.#unsure(error))
        : found;
    } catch (error) {
      return this.#unsure(error);
    }
  }

  #admit(request: IncomingMessage): Admitted | Refused | Promise<Admitted | Refused> {
    const bearer = readBearer(request);
    if (bearer === undefined) {
      const isFree = !this.#serving.isOpen && isLocal(request.headers);
      return isFree ? ANYONE : this.#challenge(missing(request));
    }
    if (bearer === "unreadable") return this.#challenge("Send one token: Authorization: Bearer …");
    const { token } = bearer;
    if (token.startsWith(TOKEN_PREFIX)) return this.#useOwn(token, request);
    return this.#loadVerifier === undefined
      ? this.#fail(request, "it is not one of this server")
      : this.#useOther(token, request);
  }

  #useOwn(token: string, request: IncomingMessage): Admitted | Refused {
    const found = this.#tokens.use(token);
    if (found === undefined) return this.#fail(request, "it was never valid, or no longer is");
    const { id, name } = found;
    return { principal: `token ${id}`, name, isLive: () => this.#tokens.isLive(id) };
  }

  #useOther(
    token: string,
    request: IncomingMessage,
  ): Admitted | Refused | Promise<Admitted | Refused> {
    const hash = hashToken(token);
    const known = this.#verified.get(hash);
    if (known !== undefined && known.until > Date.now()) return known.admitted;
    // To verify is dear, so whoever fails again and again is not given the chance.
    const wait = this.#attempts.wait(addressOf(request));
    if (wait > 0) return tooMany(wait);
    return this.#verify(token, hash, request);
  }

  async #verify(
    token: string,
    hash: string,
    request: IncomingMessage,
  ): Promise<Admitted | Refused> {
    const verifier = await (this.#verifier ??= this.#loadVerifier?.());
    const verdict = await verifier?.verify(token);
    switch (verdict?.kind) {
      case "valid": {
        const { issuer, subject, until } = verdict;
        const admitted: Admitted = {
          principal: `oauth ${issuer} ${subject}`,
          // No token of our own can have this name.
          name: `${subject}@${new URL(issuer).host}`,
          isLive: () => until > Date.now(),
        };
        this.#remember(hash, admitted, until);
        return admitted;
      }
      case "insufficient":
        return this.#insufficient();
      case "invalid":
      case undefined:
        return this.#fail(request, verdict?.why ?? "it is not one of this server");
    }
  }

  #remember(hash: string, admitted: Admitted, until: number): void {
    for (const [key, { until: end }] of this.#verified) {
      if (end > Date.now() && this.#verified.size < MOST_VERIFIED) break;
      this.#verified.delete(key);
    }
    this.#verified.set(hash, { admitted, until: Math.min(until, Date.now() + VERIFIED_FOR) });
  }

  #fail(request: IncomingMessage, why: string): Refused {
    const address = addressOf(request);
    const wait = this.#attempts.wait(address);
    if (wait > 0) return tooMany(wait);
    const count = this.#attempts.add(address);
    // Once in a window: whoever sends thousands is not to fill the log with them.
    if (count === 1) this.#log.warn("access.refused", { address, why });
    const description = `The token is not accepted: ${why}`;
    return this.#challenge(description, { error: "invalid_token", description });
  }

  /** Where it cannot be found out who it is, nobody comes in. */
  #unsure(error: unknown): Refused {
    if (performance.now() - this.#toldAt > TELL_EVERY) {
      this.#toldAt = performance.now();
      this.#log.error("access.unknown", { error });
    }
    const message = "Cannot tell who you are: try again later";
    return { status: 503, message, headers: { "retry-after": "5" } };
  }

  #insufficient(): Refused {
    const scopes = this.#serving.oauth?.scopes ?? [];
    const message = `The token is not good for this: it needs ${scopes.join(" ")}`;
    return { ...this.#challenge(message, { error: "insufficient_scope" }), status: 403 };
  }

  #challenge(message: string, more: Parameters<typeof challenge>[0] = {}): Refused {
    const { oauth } = this.#serving;
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
  return "An access token is needed: Authorization: Bearer …. `trunkline token create` makes one.";
}
