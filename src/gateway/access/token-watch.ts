/** Something that is open while its bearer may have it: a response, or a socket. */
export interface Open {
  readonly closed: boolean;
  destroy(): unknown;
}

/** How often it is looked whether a token is revoked or has expired, in milliseconds. */
const LOOK_EVERY = 200;

/** What somebody came with, and whether that is still good. */
export interface Proof {
  /** The same for all who came with the same thing. */
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
 * What tokens have open, and what else ends with them. Requests are looked at when they come; what
 * lasts longer ends within a second of the token that opened it.
 */
export class TokenWatch implements Disposable {
  readonly #open = new Map<Open, Proof>();
  readonly #standing = new Map<string, Standing>();
  #timer: NodeJS.Timeout | undefined;

  /** Ends something that is open with what its bearer came with. */
  add(open: Open, proof: Proof): void {
    // Whoever was let in may have gone while that was found out.
    if (open.closed) return;
    this.#open.set(open, proof);
    this.#watch();
  }

  /** It is over by itself. */
  remove(open: Open): void {
    this.#open.delete(open);
  }

  /** Calls back when what somebody came with is no longer good, nor any that came after it. */
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
    // To find out may be to look at a file: once for all that came with the same.
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

/** Where it cannot be told whether a token is still good, it is not. */
function isSure(isLive: () => boolean): boolean {
  try {
    return isLive();
  } catch {
    return false;
  }
}
