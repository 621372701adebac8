import { background } from "../../base/background.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { Config } from "../../config/config.ts";
import { followConfig, type ReloadSource } from "../../config/follow-config.ts";
import type { AppContext } from "../../config/app-context.ts";
import type { ConfiguredBus } from "../../plugin/open/configured-bus.ts";

/** Milliseconds after which plugins are started, though nobody has asked for a list. */
const SOON = 200;

/**
 * The configured plugins of a program that is not the bus: they are its own, on an address that
 * nobody else knows. They are started with the first list, or soon. Nothing is loaded for them as
 * long as the configuration names none.
 */
export function lazyBus(
  { config, log }: AppContext,
  offer: Offer,
  reloading: ReloadSource | undefined,
): AsyncDisposable {
  let bus: Promise<ConfiguredBus> | undefined;
  let isWanted = hasPlugins(config);
  let isTried = false;
  let now: Pick<Config, "bus" | "data"> = config;
  const open = async (): Promise<void> => {
    try {
      bus ??= import("../../plugin/open/configured-bus.ts").then(({ configuredBus }) =>
        configuredBus({ config: now, log, offer, reloading, listen: "localhost:0" }),
      );
      const loaded = await bus;
      if (isWanted) isWanted = loaded.isWanted;
      if (isWanted) await (await loaded.open()).known();
    } catch (error) {
      log.error("bus.not-opened", { error });
    }
    isTried = true;
  };
  const known = (): Promise<void> | undefined => (isWanted ? open() : undefined);
  const begin = (): void => background(known(), "Opening the bus");
  const timer = setTimeout(begin, SOON).unref();
  // Once the bus is loaded, it follows the configuration itself. Until then nothing waits for it, so that
  // it begins with the newest configuration.
  const stop = followConfig(reloading, log, (changed) => {
    now = { ...config, ...changed };
    isWanted = hasPlugins(changed);
    if (bus === undefined) begin();
  });
  // A call of a tool that nobody knows waits for them once: a bus that cannot be opened has none.
  offer.waitFor({ known, arrival: () => (isTried ? undefined : known()) });
  return {
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      stop();
      // A late call must not start plugins, which nobody would end.
      isWanted = false;
      await (await bus?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}

function hasPlugins({ bus }: Pick<Config, "bus">): boolean {
  return Object.values(bus.plugins).some(({ enabled }) => enabled !== false);
}
