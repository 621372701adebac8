import { Lazy } from "../../base/lazy.ts";
import type { Log } from "../../base/log.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import {
  type BusPlan,
  busPlan,
  hasBus,
  hasPlugins,
  noteUnasked,
  openBus,
  reconfigure,
} from "./bus.ts";
import type { Orchestrator } from "../orchestrator.ts";
import type { Config } from "../../config/config.ts";
import { followConfig, type LiveConfig, type ReloadSource } from "../../config/follow-config.ts";

export interface ConfiguredBusOptions {
  readonly config: Pick<Config, "bus" | "data">;
  readonly log: Log;
  readonly offer: Offer;
  /** Listens at this address instead of the configured one: a private bus, for its own plugins. */
  readonly listen?: string;
  /** Without it, the plugins stay as they were at the start. */
  readonly reloading?: ReloadSource | undefined;
}

/**
 * The bus that the configuration names, run in the same process as the rest of the gateway. The
 * tools of its plugins are in the offer; its plugins follow changes of the configuration.
 */
export class ConfiguredBus implements AsyncDisposable {
  readonly #options: ConfiguredBusOptions;
  readonly #stop: () => void;
  #config: Pick<Config, "bus" | "data">;
  readonly #bus = new Lazy(() => this.#open());
  #plan: BusPlan | undefined;
  #isOver = false;

  constructor(options: ConfiguredBusOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#stop = followConfig(options.reloading, options.log, (config) => this.#apply(config));
  }

  /** Whether the current configuration names a bus, or plugins for a private one. */
  get isWanted(): boolean {
    return this.#options.listen === undefined ? hasBus(this.#config) : hasPlugins(this.#config);
  }

  /** Opens it, unless it is open. */
  open(): Promise<Orchestrator> {
    return this.#bus.get();
  }

  /** The bus, if it was opened. */
  opened(): Promise<Orchestrator | undefined> {
    return this.#bus.opened();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#stop();
    await (await this.opened())?.[Symbol.asyncDispose]();
  }

  async #open(): Promise<Orchestrator> {
    const { log, offer } = this.#options;
    this.#plan = this.#planned();
    noteUnasked(this.#plan, log);
    return openBus(this.#plan, { offer, log, data: this.#config.data });
  }

  async #apply({ bus }: LiveConfig): Promise<void> {
    if (this.#isOver) return;
    this.#config = { ...this.#config, bus };
    const opened = await this.opened();
    if (opened !== undefined) {
      await reconfigure(opened, this.#planned(), this.#plan, this.#options.log);
    } else if (this.isWanted) await this.open();
  }

  #planned(): BusPlan {
    const { listen } = this.#options;
    const plan = busPlan(this.#config);
    return listen === undefined ? plan : { ...plan, listen };
  }
}
