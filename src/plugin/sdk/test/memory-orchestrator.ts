import type { JsonObject } from "@bufbuild/protobuf";
import { FAILURE, failure } from "../../../protocol/bus/failure.ts";
import type { BusHandlers } from "../../../protocol/bus/serve.ts";
import { passes } from "../../serve/events.ts";
import { serveStorage } from "../../storage/serve-storage.ts";
import type { PluginEvent } from "../definition.ts";
import type { TestTool } from "./test-plugin.ts";
import { MemoryStorage } from "./memory-storage.ts";
import { returned, thrownResponse } from "../returned.ts";

/** What surrounds a plugin under test. */
export class MemoryOrchestrator {
  readonly published: PluginEvent[] = [];
  readonly handlers: BusHandlers;
  /** Resolves when the plugin has subscribed to all that it said it needs. */
  readonly subscribed: Promise<void>;
  readonly #subscribed = Promise.withResolvers<void>();
  readonly #filters = new Map<string, Readonly<Record<string, string>>>();
  #topics = Infinity;

  constructor(id: string, tools: Readonly<Record<string, TestTool>>) {
    this.subscribed = this.#subscribed.promise;
    const storages = new Map<string, MemoryStorage>();
    this.handlers = {
      register: ({ needsEvents }) => {
        this.#topics = needsEvents.length;
        this.#look();
        return { case: "register", value: { accepted: true } };
      },
      subscribe: ({ subscriptionId, topic, filters }) => {
        this.#filters.set(topic, filters);
        this.#look();
        return { case: "eventDelivery", value: { subscriptionId, topic } };
      },
      publish: ({ topic, eventType, payload = {} }) => {
        this.published.push({ topic, type: eventType, payload, source: id });
        return undefined;
      },
      toolCall: async ({ toolName, arguments: args = {} }) => {
        const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
        return { case: "toolCall", value: await callTool(toolName, tool, args) };
      },
      ...serveStorage({
        storageFor: (type) => storages.getOrInsertComputed(type, () => new MemoryStorage()),
        report: () => {},
      }),
    };
  }

  /** Whether the plugin has subscribed to such an event. */
  wants(topic: string, payload: JsonObject): boolean {
    const filters = this.#filters.get(topic);
    return filters !== undefined && passes(filters, payload);
  }

  #look(): void {
    if (this.#filters.size >= this.#topics) this.#subscribed.resolve();
  }
}

async function callTool(
  name: string,
  tool: TestTool | undefined,
  args: JsonObject,
): Promise<ReturnType<typeof returned>> {
  if (tool === undefined) {
    return failure(FAILURE.toolNotFound, `tool "${name}" not found: give it to testPlugin`);
  }
  try {
    return returned(await tool(args));
  } catch (error) {
    return thrownResponse(error);
  }
}
