/** A response or a socket that was opened with a token. */
export interface Open {
  readonly closed: boolean;
  destroy(): unknown;
}

/** Milliseconds between two checks whether tokens are still valid. */
const LOOK_EVERY = 200;

/** A token or a cookie, and whether it is still valid. */
export interface Proof {
  /** The same for every request with the same token. */
  readonly key: string;
  readonly isLive: () => boolean;
  /** When it ends by itself, where another of the same key may end later. */
  readonly until?: number;
}

interface Standing {
  proof: Proof;
  readonly end: () => void;
}

/**
 * Closes what a token has opened once the token is revoked or expired. A request is checked when it
 * comes; a stream or socket that lasts longer is closed within a second of its token.
 */
export class TokenWatch implements Disposable {
  readonly #open = new Map<Open, Proof>();
  readonly #standing = new Map<string, Standing>();
  #timer: NodeJS.Timeout | undefined;

  /** Closes something when its token is no longer valid. */
  add(open: Open, proof: Proof): void {
    // The client may have gone while its token was verified.
    if (open.closed) return;
    this.#open.set(open, proof);
    this.#watch();
  }

  /** It was closed otherwise. */
  remove(open: Open): void {
    this.#open.delete(open);
  }

  /** Calls back when a token is no longer valid, nor any newer one of the same key. */
  stand(proof: Proof, end: () => void): void {
    const known = this.#standing.get(proof.key);
    if (known === undefined) this.#standing.set(proof.key, { proof, end });
    else if ((proof.until ?? 0) > (known.proof.until ?? 0)) known.proof = proof;
    this.#watch();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#open.clear();
    this.#standing.clear();
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY).unref();
  }

  #look(): void {
    // A check may read a file: do it once for all that have the same token.
    const known = new Map<string, boolean>();
    const isGood = ({ key, isLive }: Proof): boolean => {
      const found = known.get(key) ?? isSure(isLive);
      known.set(key, found);
      return found;
    };
    for (const [open, proof] of this.#open) {
      if (open.closed) this.#open.delete(open);
      else if (!isGood(proof)) open.destroy();
    }
    for (const [key, { proof, end }] of this.#standing) {
      if (isSure(proof.isLive)) continue;
      this.#standing.delete(key);
      end();
    }
    if (this.#open.size > 0 || this.#standing.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** A token that cannot be checked counts as not valid. */
function isSure(isLive: () => boolean): boolean {
  try {
    return isLive();
  } catch {
    return false;
  }
}
