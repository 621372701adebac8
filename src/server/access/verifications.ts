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

export type Verifications = ReturnType<typeof verifiedBy>;

/**
 * Verifies tokens of authorization servers with bounded concurrency and a cache. None is refused for
 * load: a good token among any number of wrong ones waits in the queue, and is cached then.
 */
export function verifiedBy({ load, now = Date.now }: VerificationsOptions) {
  const verifier = new Lazy(load);
  /** By the hash of the token, in the order in which they were verified. */
  const good = new Map<string, { readonly verdict: Verdict; readonly until: number }>();
  /** A separate cache, so that wrong tokens do not evict good ones. */
  const bad: typeof good = new Map();
  /** Concurrent requests with the same token share one verification. */
  const running = new Map<string, Promise<Verdict>>();
  const slots = new Semaphore({ running: AT_ONCE });

  /** Throws where the token cannot be verified now. */
  async function verify(token: string): Promise<Verdict> {
    const key = hashToken(token);
    for (const known of [good.get(key), bad.get(key)]) {
      if (known !== undefined && known.until > now()) return known.verdict;
    }
    return await running.getOrInsertComputed(key, () =>
      verifyNow(token, key).finally(() => running.delete(key)),
    );
  }

  async function verifyNow(token: string, key: string): Promise<Verdict> {
    using _slot = await slots.enter();
    const verdict = await (await verifier.get()).verify(token);
    const at = now();
    const isGood = verdict.kind === "valid";
    const known = isGood ? good : bad;
    const until = isGood ? Math.min(verdict.until, at + GOOD_FOR) : at + BAD_FOR;
    for (const [each, { until: end }] of known) {
      if (end > at && known.size < MOST_KNOWN) break;
      known.delete(each);
    }
    known.set(key, { verdict, until });
    return verdict;
  }

  return { verify };
}
