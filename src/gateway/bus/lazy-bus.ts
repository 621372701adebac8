import { background } from "../../base/background.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { BusBeside } from "./bus-beside.ts";
import type { Reloading } from "../config/follow-config.ts";
import type { House } from "../house.ts";

/** Milliseconds after which plugins are started, though nobody has asked for a list. */
const SOON = 200;

/**
 * The configured plugins, for a program that is not the bus: they are its own, on an address that
 * nobody else knows, and are started with the first list, or soon.
 */
export function lazyBus(
  { config, log }: House,
  offer: Offer,
  reloading: Reloading | undefined,
): AsyncDisposable {
  const bus = new BusBeside({ config, log, offer, reloading, listen: "localhost:0" });
  const open = async (): Promise<void> => {
    if (!bus.isWanted) return;
    try {
      await (await bus.open()).orchestrator.known();
    } catch (error) {
      log.error("bus.not-opened", { error });
    }
  };
  const timer = setTimeout(() => background(open(), "Opening the bus"), SOON).unref();
  offer.waitFor(() => (bus.isWanted ? open() : undefined));
  return {
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await bus[Symbol.asyncDispose]();
    },
  };
}
