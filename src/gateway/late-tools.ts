import type { Offer } from "../tool/offer.ts";
import type { House } from "./house.ts";
import type { OpenedTools } from "./open-tools.ts";

/** Every tool there is, opened when the first is wanted. */
export class LateTools implements AsyncDisposable {
  readonly #house: House;
  #tools: Promise<OpenedTools> | undefined;

  constructor(house: House) {
    this.#house = house;
  }

  readonly offer = async (): Promise<Offer> => {
    this.#tools ??= this.#open();
    return (await this.#tools).offer;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#tools?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }

  async #open(): Promise<OpenedTools> {
    try {
      const { openTools } = await import("./open-tools.ts");
      return await openTools(this.#house, { isLasting: true, mayRemember: true });
    } catch (error) {
      // The next one may fare better.
      this.#tools = undefined;
      throw error;
    }
  }
}
