import { Lazy } from "../../base/lazy.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { House } from "../house.ts";
import type { OpenedTools } from "./open-tools.ts";

/** Every tool there is, opened when the first is wanted. */
export class LazyTools implements AsyncDisposable {
  readonly #tools: Lazy<OpenedTools>;

  constructor(house: House) {
    this.#tools = new Lazy(async () => {
      const { openTools } = await import("./open-tools.ts");
      return openTools(house, { isLasting: true, mayRemember: true });
    });
  }

  readonly offer = async (): Promise<Offer> => (await this.#tools.get()).offer;

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#tools.opened())?.[Symbol.asyncDispose]();
  }
}
