/** Something that is open while its bearer may have it: a response, or a socket. */
export interface Open {
  readonly closed: boolean;
  destroy(): unknown;
  on(event: "close", listener: () => void): unknown;
}

/** A token that is revoked or expires is looked for this often. */
const LOOK_EVERY = 500;

/**
 * What tokens have open. Requests are looked at when they come; what lasts longer ends within a
 * second of the token that opened it.
 */
export class Lasting implements Disposable {
  readonly #open = new Map<Open, () => boolean>();
  #timer: NodeJS.Timeout | undefined;

  add(open: Open, isLive: () => boolean): void {
    // Whoever was let in may have gone while that was found out.
    if (open.closed) return;
    this.#open.set(open, isLive);
    open.on("close", () => this.#open.delete(open));
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#open.clear();
  }

  #look(): void {
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const [open, isLive] of this.#open) if (!isSure(isLive)) open.destroy();
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
