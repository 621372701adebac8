import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";

import { onAbort } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { FAILURE, failure } from "../../protocol/bus/failure.ts";
import { HealthResult_Status } from "../../protocol/bus/plugin.gen.ts";
import { toBusPrompt, toPromptGetResponse } from "../../protocol/bus/shape/prompt-shape.ts";
import type { Answer, BusCall, BusHandlers, BusService } from "../../protocol/bus/serve.ts";
import { toToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { fromToolRequest, toBusTool, type ToolCall } from "../../protocol/bus/shape/tool-shape.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { ToolContext, ToolResult } from "../../tool/tool.ts";
import type { Connection } from "../../wire/quic/connection.ts";
import { busContext, busCaller } from "../bus-context.ts";
import type { Events } from "./events.ts";
import type { FirstStarts } from "../plugin/first-starts.ts";
import type { Guest, Guests } from "../guests.ts";
import { approving } from "../plugin/permissions.ts";
import type { PluginTools } from "../plugin/plugin-tool.ts";
import { serveStreams } from "./stream-handlers.ts";

export interface Bus {
  readonly offer: Offer;
  readonly events: Events;
  readonly guests: Guests;
  readonly log: Log;
  readonly report: BusService["report"];
  readonly firstStarts: FirstStarts;
  /** Which plugin has which tool and prompt. */
  readonly tools: Pick<PluginTools, "ownerOf" | "ownerOfPrompt">;
  /** A plugin has registered, maybe because it offers something else now. */
  readonly registered: (id: string) => void;
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
      if (why === undefined) bus.registered(manifest.id);
      else bus.report("bus.not-registered", { peer: bus.guests.of(connection).name, why });
      return { case: "register", value: { accepted: why === undefined, rejectReason: why ?? "" } };
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
        .filter(({ name }) => mayCall(name, bus.tools.ownerOf(name)));
      return { case: "listTools", value: { tools: tools.map(toBusTool) } };
    },
    toolCall: async (request, call) => {
      const result = await callTool(bus, fromToolRequest(request), call);
      return { case: "toolCall", value: toToolResponse(result) };
    },
    listPrompts: async (_, { connection }) => {
      await offer.known();
      const prompts = offer.prompts
        .list()
        .map(({ definition }) => definition)
        .filter(({ name }) => mayGet(bus, connection, name))
        .map(toBusPrompt);
      return { case: "listPrompts", value: { prompts } };
    },
    promptGet: async ({ promptName, arguments: args }, call) => {
      const prompt = offer.prompts.get(promptName);
      if (prompt === undefined || !mayGet(bus, call.connection, promptName)) {
        const value = failure(FAILURE.promptRouting, `no plugin provides prompt "${promptName}"`);
        return { case: "toolCall", value };
      }
      const context = contextOf(bus, { name: promptName }, call);
      const result = await offer.getPrompt(prompt, args, context);
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
  const { tools } = bus.offer;
  if (tools.get(name) === undefined) {
    await bus.firstStarts.tool(name, () => tools.get(name) !== undefined);
  }
  const guest = bus.guests.of(call.connection);
  if (!guest.mayCall(name, bus.tools.ownerOf(name))) throw mayNot(guest, name);
  try {
    return await tools.call(name, args, contextOf(bus, toolCall, call, piece));
  } catch (error) {
    throw tools.get(name) === undefined ? unknownTool(bus, name, error) : error;
  }
}

function mayNot({ name, isPlugin, isApproved }: Guest, tool: string): TrunklineError {
  const why = !isPlugin
    ? "its certificate is not that of a bridge, which would be called 'transport.NAME-client'"
    : isApproved === true
      ? "nobody has approved that. Its needsTools in the configuration allow it"
      : "its manifest does not say so in needs_tools";
  return new TrunklineError("untrusted", `'${name}' may not call '${tool}': ${why}`);
}

/** Names the plugins that may have the tool, once they are up. */
function unknownTool({ firstStarts }: Bus, name: string, error: unknown): unknown {
  const plugins = firstStarts.mayHave(name);
  if (!(error instanceof TrunklineError) || plugins.length === 0) return error;
  const ids = plugins.map(({ id }) => `'${id}'`).join(", ");
  const [which, may] = plugins.length === 1 ? ["Plugin", "is"] : ["Plugins", "are"];
  const hint = `${which} ${ids} ${may} not up yet and may have it: try again, or see how with 'trunkline plugin list'.`;
  return new TrunklineError(error.code, `${error.message}. ${hint}`);
}

/** A prompt runs code of its plugin: only a guest that may call all tools of the plugin may get it. */
function mayGet({ guests, tools }: Bus, connection: Connection, prompt: string): boolean {
  return guests.of(connection).mayCall("*", tools.ownerOfPrompt(prompt));
}

export function contextOf(
  { guests, log }: Bus,
  toolCall: ToolCall,
  { connection, signal }: BusCall,
  piece?: ToolContext["piece"],
): ToolContext {
  const { name, isPlugin } = guests.of(connection);
  const given = piece === undefined ? {} : { piece };
  return busContext(toolCall, { name, signal, log, isNested: isPlugin, ...given });
}

function serveEvents({ events, guests, deliverTo }: Bus): BusHandlers {
  return {
    subscribe: async ({ subscriptionId, topic, filters }, call) => {
      const guest = guests.of(call.connection);
      const { name } = guest;
      if (!guest.maySubscribe(topic)) throw mayNotUse("subscribe to", topic, guest);
      const id = subscriptionId || crypto.randomUUID();
      const confirmed: Answer = { case: "eventDelivery", value: { subscriptionId: id, topic } };
      const send = deliverTo(name);
      if (send !== undefined) {
        const deliver = ({ type, payload, source }: DeliveredEvent): Promise<void> =>
          send({ topic, eventType: type, payload, sourcePlugin: source });
        events.subscribe(name, { id, topic, filters, deliver });
        return confirmed;
      }
      // A subscriber that cannot be dialled gets events on the stream of its subscription.
      const over = Promise.withResolvers<void>();
      using ends = new DisposableStack();
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
      onAbort(call.signal, () => over.resolve());
      ends.defer(end);
      // Sent in this turn of the event loop, and so ahead of any event.
      await call.send(confirmed);
      await over.promise;
      return undefined;
    },
    unsubscribe: ({ subscriptionId }, { connection }) => {
      events.unsubscribe(guests.of(connection).name, subscriptionId);
      return undefined;
    },
    publish: ({ topic, eventType: type, payload = {} }, { connection, bytes }) => {
      const guest = guests.of(connection);
      if (!guest.mayPublish(topic)) throw mayNotUse("publish to", topic, guest);
      events.publish({ topic, type, payload, source: guest.name, time: new Date(), bytes });
      return undefined;
    },
  };
}

function mayNotUse(what: string, topic: string, { name }: Guest): TrunklineError {
  const own = `its own topics begin with '${name}/'`;
  const why = `nobody has approved that, and ${own}. ${approving(name)}`;
  return new TrunklineError(
    "untrusted",
    `'${name}' may not ${what} '${visibleLine(topic)}': ${why}`,
  );
}

type DeliveredEvent = Parameters<Parameters<Events["subscribe"]>[1]["deliver"]>[0];
