import { TrunklineError } from "../../base/errors.ts";
import { Slots } from "../../base/limit/slots.ts";
import type { Principal } from "../../base/principal.ts";

export interface SharesOptions {
  /** What there is so many of, as the object of a sentence. */
  readonly what: string;
  /** How many one principal may have at once, and how many more may wait. */
  readonly most: number;
  readonly waiting: number;
}

/** What a principal may have at once of something that costs: whoever asks for more waits for its own. */
export class Shares {
  readonly #options: SharesOptions;
  readonly #slots = new Map<string, Slots>();

  constructor(options: SharesOptions) {
    this.#options = options;
  }

  /** Takes one, to be given back. Throws "limit" where too many wait already. */
  async take({ id }: Principal): Promise<Disposable> {
    const { what, most, waiting } = this.#options;
    const slots = this.#slots.get(id) ?? new Slots(most);
    this.#slots.set(id, slots);
    if (slots.taken === most && slots.waiting >= waiting) {
      throw new TrunklineError(
        "limit",
        `Too many ${what} of this token at once: it may have ${most}. Wait for one to end.`,
      );
    }
    await slots.take();
    return {
      [Symbol.dispose]: () => {
        slots.leave();
        if (slots.taken === 0) this.#slots.delete(id);
      },
    };
  }
}
