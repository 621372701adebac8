import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";

import { TrunklineError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { FAILURE, failure } from "../protocol/bus/failure.ts";
import { HealthResult_Status } from "../protocol/bus/plugin.gen.ts";
import { toBusPrompt, toPromptGetResponse } from "../protocol/bus/prompt-shape.ts";
import type { Answer, BusCall, BusHandlers } from "../protocol/bus/serve.ts";
import { toToolResponse } from "../protocol/bus/tool-result.ts";
import { fromToolRequest, toBusTool, type ToolCall } from "../protocol/bus/tool-shape.ts";
import type { Offer } from "../tool/offer.ts";
import type { ToolContext, ToolResult } from "../tool/tool.ts";
import { BusContext, busCaller } from "./bus-context.ts";
import type { Events } from "./events.ts";
import type { Guests } from "./guests.ts";
import { serveStreams } from "./serve-streams.ts";

export interface Bus {
  readonly offer: Offer;
  readonly events: Events;
  readonly guests: Guests;
  readonly log: Log;
  /** Whether a plugin brought the tool. */
  readonly isPluginTool: (name: string) => boolean;
  /** Sends an event to a plugin of ours; undefined when there is none of that id. */
  readonly deliverTo: (id: string) => ((event: EventRequest) => Promise<void>) | undefined;
}

/** An event as plugins are sent it. */
export interface EventRequest {
  readonly topic: string;
  readonly eventType: string;
  readonly payload: JsonObject;
  readonly sourcePlugin: string;
}

/** What everybody on the bus can ask the orchestrator for, besides storage. */
export function serveBus(bus: Bus): BusHandlers {
  const { offer } = bus;
  return {
    register: (manifest, { connection }) => {
      const why = bus.guests.register(connection, manifest);
      const value = { accepted: why === undefined, rejectReason: why ?? "" };
      return { case: "register", value };
    },
    health: () => ({
      case: "health",
      value: { status: HealthResult_Status.HEALTHY, message: "orchestrator ok" },
    }),
    listTools: async (_, { connection }) => {
      await offer.known();
      const { name: guest, mayCall } = bus.guests.of(connection);
      const tools = offer.tools
        .listFor({ caller: busCaller(guest) })
        .map(({ definition }) => definition)
        .filter(({ name }) => bus.isPluginTool(name) || mayCall(name));
      return { case: "listTools", value: { tools: tools.map(toBusTool) } };
    },
    toolCall: async (request, call) => {
      const result = await callTool(bus, fromToolRequest(request), call);
      return { case: "toolCall", value: toToolResponse(result) };
    },
    listPrompts: async () => {
      await offer.known();
      const prompts = offer.prompts.list().map(({ definition }) => toBusPrompt(definition));
      return { case: "listPrompts", value: { prompts } };
    },
    promptGet: async ({ promptName, arguments: args }, call) => {
      const prompt = offer.prompts.get(promptName);
      if (prompt === undefined) {
        const value = failure(FAILURE.promptRouting, `no plugin provides prompt "${promptName}"`);
        return { case: "toolCall", value };
      }
      const result = await prompt.get(args, contextOf(bus, { name: promptName }, call));
      return { case: "promptGet", value: toPromptGetResponse(result) };
    },
    ...serveEvents(bus),
    ...serveStreams((toolCall, call, piece) => callTool(bus, toolCall, call, piece)),
  };
}

/** Through the toolbox, so that policy, limits and the record hold here too. */
async function callTool(
  bus: Bus,
  toolCall: ToolCall,
  call: BusCall,
  piece?: ToolContext["piece"],
): Promise<ToolResult> {
  const { name, args = {} } = toolCall;
  await bus.offer.known();
  const guest = bus.guests.of(call.connection);
  if (!bus.isPluginTool(name) && !guest.mayCall(name)) {
    throw new TrunklineError(
      "untrusted",
      `'${guest.name}' may not call '${name}': its manifest does not say so in needs_tools`,
    );
  }
  return bus.offer.tools.call(name, args, contextOf(bus, toolCall, call, piece));
}

function contextOf(
  { guests, log }: Bus,
  toolCall: ToolCall,
  { connection, stop }: BusCall,
  piece?: ToolContext["piece"],
): BusContext {
  const { name } = guests.of(connection);
  return new BusContext(toolCall, { name, stop, log, ...(piece === undefined ? {} : { piece }) });
}

function serveEvents({ events, guests, deliverTo }: Bus): BusHandlers {
  return {
    subscribe: async ({ subscriptionId, topic, filters }, call) => {
      const { name } = guests.of(call.connection);
      const id = subscriptionId || crypto.randomUUID();
      const confirmed: Answer = { case: "eventDelivery", value: { subscriptionId: id, topic } };
      const send = deliverTo(name);
      if (send !== undefined) {
        const deliver = ({ type, payload, source }: Delivered): Promise<void> =>
          send({ topic, eventType: type, payload, sourcePlugin: source });
        events.subscribe(name, { id, topic, filters, deliver });
        return confirmed;
      }
      // Whoever cannot be dialled hears of events on the stream that it asked on.
      const over = Promise.withResolvers<void>();
      const confirming = call.send(confirmed);
      const end = events.subscribe(name, {
        ...{ id, topic, filters, ended: over.resolve },
        deliver: ({ type, payload, source, time }) =>
          call.send({
            case: "eventDelivery",
            value: {
              ...{ subscriptionId: id, topic, eventType: type, payload, sourcePlugin: source },
              timestamp: timestampFromDate(time),
            },
          }),
      });
      call.stop.add({ stopped: () => over.resolve() });
      try {
        await confirming;
        await over.promise;
      } finally {
        end();
      }
      return undefined;
    },
    unsubscribe: ({ subscriptionId }, { connection }) => {
      events.unsubscribe(guests.of(connection).name, subscriptionId);
      return undefined;
    },
    publish: ({ topic, eventType, payload }, { connection }) => {
      const source = guests.of(connection).name;
      events.publish({ topic, type: eventType, payload: payload ?? {}, source, time: new Date() });
      return undefined;
    },
  };
}

type Delivered = Parameters<Parameters<Events["subscribe"]>[1]["deliver"]>[0];
