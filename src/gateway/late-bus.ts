import type { Offer } from "../tool/offer.ts";
import type { OpenedBus } from "./bus.ts";
import type { House } from "./house.ts";

/** Milliseconds after which plugins are started, though nobody has asked for a list. */
const SOON = 200;

/**
 * The configured plugins, for a program that is not the bus: they are its own, on an address that
 * nobody else knows, and are started with the first list, or soon. Undefined when there are none.
 */
export function lateBus({ config, log }: House, offer: Offer): AsyncDisposable | undefined {
  const isWanted = Object.values(config.bus.plugins).some(({ enabled }) => enabled !== false);
  if (!isWanted) return undefined;
  let opening: Promise<OpenedBus | undefined> | undefined;
  const open = (): Promise<OpenedBus | undefined> => {
    opening ??= import("./bus.ts")
      .then(({ busPlan, openBus }) => {
        const plan = { ...busPlan(config), listen: "localhost:0" };
        return openBus(plan, { offer, log, data: config.data });
      })
      .catch((error: unknown) => {
        log.error("bus.not-opened", { error });
        return undefined;
      });
    return opening;
  };
  const timer = setTimeout(() => void open(), SOON).unref();
  offer.waitFor(() => open().then((bus) => bus?.orchestrator.known()));
  return {
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await (await opening)?.[Symbol.asyncDispose]();
    },
  };
}
