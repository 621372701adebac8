import { Slots } from "../../base/limit/slots.ts";
import type { BusCall, BusHandlers } from "../../protocol/bus/serve.ts";
import { nameOf } from "../guests.ts";

/** What one guest may have done to our own storage at once; more waits. */
const AT_ONCE = 4;

type Handler = (value: never, call: BusCall) => unknown;

/**
 * Lets no guest have the disk for itself. To wait is harmless here: our own storage calls nobody, so
 * what is waited for comes to its end.
 */
export function limitStorage(handlers: BusHandlers): BusHandlers {
  const slots = new Map<string, Slots>();
  const limited = Object.entries(handlers as Record<string, Handler>).map(([kind, handle]) => {
    const inTurn = async (value: never, call: BusCall): Promise<unknown> => {
      const own = slots.getOrInsertComputed(nameOf(call.connection), () => new Slots(AT_ONCE));
      const entering = own.take(call.stop);
      if (entering !== undefined) await entering;
      try {
        return await handle(value, call);
      } finally {
        own.leave();
      }
    };
    return [kind, inTurn];
  });
  return Object.fromEntries(limited) as BusHandlers;
}
