import type { BusCall, BusHandlers } from "../../protocol/bus/serve.ts";
import type { AskedPlugin } from "../plugin/plugin.ts";
import type { PluginLink } from "../plugin/plugin-link.ts";
import { DEFAULT_STORAGE } from "./serve-storage.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";
import { nameOf } from "../guests.ts";

/** Sends what is asked of storage to the plugin that provides its kind, else to our own. */
export function routeStorage(
  providerOf: (type: string) => AskedPlugin | undefined,
  isNested: (call: BusCall) => boolean,
  own: BusHandlers,
): BusHandlers {
  const provider = ({ storageType }: { readonly storageType: string }): AskedPlugin | undefined =>
    providerOf(storageType || DEFAULT_STORAGE);
  return {
    storageRead: async (value, call) => {
      const plugin = provider(value);
      if (plugin === undefined) return own.storageRead?.(value, call);
      const asking = { stop: call.stop, again: true, isNested: isNested(call) };
      return answerOf(await (await plugin.link()).ask({ case: "storageRead", value }, asking));
    },
    storageWrite: async (value, call) => {
      const plugin = provider(value);
      if (plugin === undefined) return own.storageWrite?.(value, call);
      // Once it was sent, nobody knows whether it was written: its caller has versions to find out.
      const asking = { isNested: isNested(call) };
      return answerOf(await (await plugin.link()).ask({ case: "storageWrite", value }, asking));
    },
    storageDelete: async (value, call) => {
      const plugin = provider(value);
      if (plugin === undefined) return own.storageDelete?.(value, call);
      const asking = { isNested: isNested(call) };
      return answerOf(await (await plugin.link()).ask({ case: "storageDelete", value }, asking));
    },
    storageList: async (value, call) => {
      const plugin = provider(value);
      if (plugin === undefined) return own.storageList?.(value, call);
      const asking = { stop: call.stop, again: true, isNested: isNested(call) };
      return answerOf(await (await plugin.link()).ask({ case: "storageList", value }, asking));
    },
  };
}

type Answered = Awaited<ReturnType<PluginLink["ask"]>>;

/** The plugin's own answer, as it is. */
function answerOf({ response }: Answered): Extract<Answered["response"], { case: string }> {
  if (response.case === undefined) throw new Error("The plugin gave an empty answer");
  return response;
}

/** What one guest may have done to our own storage at once; more waits. */
const AT_ONCE = 4;

type Handler = (value: never, call: BusCall) => unknown;

/**
 * Lets no guest have the disk for itself. To wait is harmless here: our own storage calls nobody, so
 * what is waited for comes to its end.
 */
export function limitStorage(handlers: BusHandlers): BusHandlers {
  const slots = new Semaphore({ runningEach: AT_ONCE });
  const limited = Object.entries(handlers as Record<string, Handler>).map(([kind, handle]) => {
    const inTurn = (value: never, call: BusCall): Promise<unknown> =>
      slots.run(() => handle(value, call), { key: nameOf(call.connection), stop: call.stop });
    return [kind, inTurn];
  });
  return Object.fromEntries(limited) as BusHandlers;
}
