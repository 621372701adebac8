import { Lazy } from "../../base/lazy.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";
import { hashToken } from "../../store/access/access-token.ts";
import type { JwtVerifier, Verdict } from "./jwt-verifier.ts";

/** Tokens whose verification is cached. */
const MOST_KNOWN = 1000;
const GOOD_FOR = 60_000;
/** Refusals are cached shorter: a token may be early, or its key not published yet. */
const BAD_FOR = 5_000;
/** Tokens that are verified at the same time; others queue. */
const AT_ONCE = 8;

export interface VerificationsOptions {
  /** Called for the first token that is not one of Trunkline's own. */
  readonly load: () => Promise<JwtVerifier>;
  readonly now?: () => number;
}

/**
 * Verifies tokens of authorization servers with bounded concurrency and a cache. None is refused for
 * load: a good token among any number of wrong ones waits in the queue, and is cached then.
 */
export class Verifications {
  readonly #verifier: Lazy<JwtVerifier>;
  readonly #now: () => number;
  /** By the hash of the token, in the order in which they were verified. */
  readonly #good = new Map<string, { readonly verdict: Verdict; readonly until: number }>();
  /** A separate cache, so that wrong tokens do not evict good ones. */
  readonly #bad = new Map<string, { readonly verdict: Verdict; readonly until: number }>();
  /** Concurrent requests with the same token share one verification. */
  readonly #running = new Map<string, Promise<Verdict>>();
  readonly #slots = new Semaphore({ running: AT_ONCE });

  constructor({ load, now = Date.now }: VerificationsOptions) {
    this.#verifier = new Lazy(load);
    this.#now = now;
  }

  /** Throws where the token cannot be verified now. */
  async verify(token: string): Promise<Verdict> {
    const key = hashToken(token);
    for (const known of [this.#good.get(key), this.#bad.get(key)]) {
      if (known !== undefined && known.until > this.#now()) return known.verdict;
    }
    return await this.#running.getOrInsertComputed(key, () =>
      this.#verify(token, key).finally(() => this.#running.delete(key)),
    );
  }

  async #verify(token: string, key: string): Promise<Verdict> {
    using _slot = await this.#slots.enter();
    const verdict = await (await this.#verifier.get()).verify(token);
    const now = this.#now();
    const isGood = verdict.kind === "valid";
    const known = isGood ? this.#good : this.#bad;
    const until = isGood ? Math.min(verdict.until, now + GOOD_FOR) : now + BAD_FOR;
    for (const [each, { until: end }] of known) {
      if (end > now && known.size < MOST_KNOWN) break;
      known.delete(each);
    }
    known.set(key, { verdict, until });
    return verdict;
  }
}
