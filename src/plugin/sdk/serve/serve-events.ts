import type { EventDelivery, Publish } from "../../../protocol/bus/plugin.gen.ts";
import type { BusHandlers } from "../../../protocol/bus/serve.ts";
import type { EventSpec } from "../definition.ts";
import { thrownResponse } from "../returned.ts";
import { NO_STOP } from "./running-calls.ts";
import type { ToolService } from "./serve-tools.ts";

/** Brings one event to its handler, and waits for that. Throws what the handler throws. */
export type Deliver = (
  event: Pick<Publish | EventDelivery, "topic" | "eventType" | "payload" | "sourcePlugin">,
) => Promise<void>;

/** What brings events to the handlers of a plugin. */
export function deliverTo(
  events: ReadonlyMap<string, EventSpec>,
  { outside, calls }: ToolService,
): Deliver {
  return ({ topic, eventType, payload = {}, sourcePlugin }) =>
    calls.run({ stop: NO_STOP }, async (stopper) => {
      const event = { topic, type: eventType, payload, source: sourcePlugin };
      await events.get(topic)?.handle(event, outside.context(stopper));
    });
}

/** The orchestrator brings events as requests of their own. */
export function serveEvents(deliver: Deliver, { log }: ToolService): BusHandlers {
  return {
    publish: async (event) => {
      try {
        await deliver(event);
        return undefined;
      } catch (error) {
        log.warn("plugin.event-failed", { topic: event.topic, error });
        return { case: "toolCall", value: thrownResponse(error) };
      }
    },
  };
}
