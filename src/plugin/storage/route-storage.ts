import type { Asked } from "../../protocol/bus/connect.ts";
import type { BusCall, BusHandlers } from "../../protocol/bus/serve.ts";
import type { AskedPlugin } from "../plugin/plugin.ts";
import { DEFAULT_STORAGE } from "./serve-storage.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";
import { nameOf } from "../guests.ts";

/** Routes requests for storage to the plugin that provides its kind, or to our own storage. */
export function routeStorage(
  providerOf: (type: string) => AskedPlugin | undefined,
  isNested: (call: BusCall) => boolean,
  own: BusHandlers,
): BusHandlers {
  // Once a change was sent, nobody knows whether it was made: its caller has versions to find out.
  const reads: readonly string[] = ["storageRead", "storageList"];
  const route = (kind: keyof BusHandlers) => async (value: Routed, call: BusCall) => {
    const plugin = providerOf(value.storageType || DEFAULT_STORAGE);
    if (plugin === undefined) return (own[kind] as Handler | undefined)?.(value as never, call);
    const asking = reads.includes(kind) ? { signal: call.signal, again: true } : {};
    const request = { case: kind, value } as Asked;
    const link = await plugin.link();
    const { response } = await link.ask(request, { ...asking, isNested: isNested(call) });
    if (response.case === undefined) throw new Error("The plugin gave an empty answer");
    return response;
  };
  const kinds = ["storageRead", "storageWrite", "storageDelete", "storageList"] as const;
  return Object.fromEntries(kinds.map((kind) => [kind, route(kind)]));
}

interface Routed {
  readonly storageType: string;
}

/** Requests of one guest to our own storage that run at once; more wait. */
const AT_ONCE = 4;

type Handler = (value: never, call: BusCall) => unknown;

/**
 * Keeps one guest from using the disk alone. Waiting cannot deadlock: our own storage calls nobody.
 */
export function limitStorage(handlers: BusHandlers): BusHandlers {
  const slots = new Semaphore({ runningEach: AT_ONCE });
  const limited = Object.entries(handlers as Record<string, Handler>).map(([kind, handle]) => {
    const inTurn = (value: never, call: BusCall): Promise<unknown> =>
      slots.run(() => handle(value, call), { key: nameOf(call.connection), signal: call.signal });
    return [kind, inTurn];
  });
  return Object.fromEntries(limited) as BusHandlers;
}
