import { hasBrand, TrunklineError } from "../../base/errors.ts";

/** A model will not answer to what was said, however often it is asked. */
export class Refusal extends TrunklineError {
  static readonly #brand = Symbol.for("trunkline.Refusal");

  constructor(code: "unavailable" | "limit", message: string) {
    super(code, message);
    Object.defineProperty(this, Refusal.#brand, {});
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasBrand(value, Refusal.#brand);
  }
}
