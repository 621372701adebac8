import { setTimeout as delay } from "node:timers/promises";

import { background } from "../../base/background.ts";
import type { Log } from "../../base/log.ts";
import type { Stop } from "../../base/stop.ts";
import { askForOffer, type PluginOffer } from "./introduce.ts";
import { approving, covers, type ProvidedNames } from "./permissions.ts";
import type { PluginLink } from "./plugin-link.ts";

/** Milliseconds between two changes: a plugin that changes all the time keeps no client busy. */
const BETWEEN = 200;
const ANY: readonly string[] = ["*"];

export interface KnownOfferOptions {
  readonly id: string;
  readonly log: Log;
  /** The tools and prompts that were approved; any where these are left out. */
  readonly provides?: ProvidedNames | undefined;
  /** Milliseconds for each list. */
  readonly timeout: number;
  /** Gives up what is asked. */
  readonly stop: Stop;
  /** How it is asked now; undefined while it is down. */
  readonly link: () => Pick<PluginLink, "control"> | undefined;
  /** It offers something else than when it came up. */
  readonly changed: () => void;
}

/** What a plugin is known to offer: as it said when it came up, or when it last registered anew. */
export class KnownOffer {
  current: PluginOffer | undefined;
  readonly #options: KnownOfferOptions;
  /** It has registered since it was last asked. */
  #isOutdated = false;
  #isAsking = false;

  constructor(current: PluginOffer | undefined, options: KnownOfferOptions) {
    this.current = current;
    this.#options = options;
  }

  /** Asks one that has just been started. */
  async ask(link: Pick<PluginLink, "control">): Promise<void> {
    this.current = await this.#offerOf(link);
  }

  /** It is up. What it has registered since it was asked is asked for. */
  isUp(): void {
    if (this.#isOutdated) this.outdated();
  }

  /** It may offer something else by now. */
  outdated(): void {
    this.#isOutdated = true;
    const link = this.#options.link();
    if (link === undefined || this.#isAsking) return;
    this.#isAsking = true;
    background(this.#askAgain(link), "Asking a plugin what it offers");
  }

  /** Until nothing was registered meanwhile. */
  async #askAgain(link: Pick<PluginLink, "control">): Promise<void> {
    const isSame = (): boolean => this.#options.link() === link;
    try {
      while (this.#isOutdated && isSame()) {
        const offer = await this.#offerOf(link);
        // Another process may have said meanwhile what it offers.
        if (!isSame()) break;
        this.current = offer;
        this.#options.changed();
        await delay(BETWEEN, undefined, { ref: false });
      }
    } catch (error) {
      if (isSame()) this.#options.log.warn("plugin.not-listed", { error });
    } finally {
      this.#isAsking = false;
      if (!isSame()) this.isUp();
    }
  }

  async #offerOf({ control }: Pick<PluginLink, "control">): Promise<PluginOffer> {
    const { id, timeout, stop, log } = this.#options;
    this.#isOutdated = false;
    const offer = this.#approved(await askForOffer(control, id, timeout, stop));
    const { leftOut } = offer;
    if (leftOut.length > 0) {
      const names = leftOut.slice(0, 10);
      log.warn("plugin.offers-too-much", { leftOut: leftOut.length, names });
    }
    return offer;
  }

  #approved(offer: PluginOffer): PluginOffer {
    const { id, log, provides } = this.#options;
    const named =
      (approved = ANY) =>
      (one: { readonly name: string }) =>
        covers(approved, one.name);
    const tools = offer.tools.filter(named(provides?.tools));
    const prompts = offer.prompts.filter(named(provides?.prompts));
    const kept = new Set<object>([...tools, ...prompts]);
    const more = [...offer.tools, ...offer.prompts].filter((one) => !kept.has(one));
    if (more.length > 0) {
      const names = more.slice(0, 10).map(({ name }) => name.slice(0, 100));
      log.warn("plugin.not-approved", { names, next: approving(id) });
    }
    return { ...offer, tools, prompts };
  }
}
