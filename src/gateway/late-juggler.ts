import { jugglerRoutes } from "../protocol/juggler/serve.ts";
import type { PeerOptions } from "../rpc/peer-options.ts";
import type { Offer } from "../tool/offer.ts";
import type { House } from "./house.ts";
import type { OpenedTools } from "./open-tools.ts";

/** RemoteJuggler's action dialect, for a connection on which it may never be spoken. */
export class LateJuggler implements AsyncDisposable {
  readonly #house: House;
  #tools: Promise<OpenedTools> | undefined;

  constructor(house: House) {
    this.#house = house;
  }

  /** Every tool there is, opened with the first action. */
  async offer(): Promise<Offer> {
    this.#tools ??= this.#open();
    return (await this.#tools).offer;
  }

  /** Has another dialect's door understand this one too: the first message tells which it is. */
  beside<S>(door: PeerOptions<S>): PeerOptions<S> {
    const own = jugglerRoutes<S>({ offer: () => this.offer() });
    return {
      ...door,
      routes: new Map([...door.routes, ...own.map((each) => [each.name, each] as const)]),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#tools?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }

  async #open(): Promise<OpenedTools> {
    const { openTools } = await import("./open-tools.ts");
    return await openTools(this.#house, { isLasting: true, mayRemember: true });
  }
}
