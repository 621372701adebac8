import { hasBrand, TrunklineError } from "../base/errors.ts";

/**
 * One request of ours gets no answer, since what carried it failed; others are not concerned. The
 * message says what happened in words that complete "it …".
 */
export class LostRequest extends TrunklineError {
  static readonly #brand = Symbol.for("trunkline.LostRequest");
  /** Nothing of it has reached the other side, so that it can be made again without harm. */
  readonly isUnsent: boolean;

  constructor(message: string, { isUnsent }: { readonly isUnsent: boolean }) {
    super("closed", message);
    Object.defineProperty(this, LostRequest.#brand, {});
    this.isUnsent = isUnsent;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasBrand(value, LostRequest.#brand);
  }
}
