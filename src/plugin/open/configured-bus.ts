import { Lazy } from "../../base/lazy.ts";
import type { Log } from "../../base/log.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import * as buses from "./bus.ts";
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
export type ConfiguredBus = ReturnType<typeof configuredBus>;

export function configuredBus(options: ConfiguredBusOptions) {
  let config = options.config;
  let plan: buses.BusPlan | undefined;
  let isOver = false;
  const orchestrator = new Lazy(async () => {
    const { log, offer } = options;
    plan = planned();
    buses.noteUnasked(plan, log);
    return buses.openBus(plan, { offer, log, data: config.data });
  });
  const isWanted = (): boolean =>
    options.listen === undefined ? buses.hasBus(config) : buses.hasPlugins(config);
  const apply = async ({ bus }: LiveConfig): Promise<void> => {
    if (isOver) return;
    config = { ...config, bus };
    const opened = await orchestrator.opened();
    if (opened !== undefined) {
      await buses.reconfigure(opened, planned(), plan, options.log);
    } else if (isWanted()) await orchestrator.get();
  };
  const planned = (): buses.BusPlan => {
    const { listen } = options;
    const all = buses.busPlan(config);
    return listen === undefined ? all : { ...all, listen };
  };
  const stop = followConfig(options.reloading, options.log, apply);
  return {
    /** Whether the current configuration names a bus, or plugins for a private one. */
    get isWanted(): boolean {
      return isWanted();
    },
    /** Opens it, unless it is open. */
    open: () => orchestrator.get(),
    /** The bus, if it was opened. */
    opened: () => orchestrator.opened(),
    async [Symbol.asyncDispose](): Promise<void> {
      isOver = true;
      stop();
      await (await orchestrator.opened())?.[Symbol.asyncDispose]();
    },
  };
}
