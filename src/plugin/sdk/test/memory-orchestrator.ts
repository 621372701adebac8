import type { JsonObject } from "@bufbuild/protobuf";
import { FAILURE, failure } from "../../../protocol/bus/failure.ts";
import type { BusHandlers } from "../../../protocol/bus/serve.ts";
import { passes } from "../../serve/events.ts";
import { serveStorage } from "../../storage/serve-storage.ts";
import * as storage from "../../storage/storage.ts";
import type { PluginEvent } from "../definition.ts";
import { returned, thrownResponse } from "../returned.ts";
import type { TestTool } from "./test-plugin.ts";

/** The orchestrator of a plugin under test. */
export function memoryOrchestrator(id: string, tools: Readonly<Record<string, TestTool>>) {
  const published: PluginEvent[] = [];
  const subscribed = Promise.withResolvers<void>();
  const filtersOf = new Map<string, Readonly<Record<string, string>>>();
  let topics = Infinity;
  const look = (): void => {
    if (filtersOf.size >= topics) subscribed.resolve();
  };
  const storages = new Map<string, MemoryStorage>();
  const handlers: BusHandlers = {
    register: ({ needsEvents }) => {
      topics = needsEvents.length;
      look();
      return { case: "register", value: { accepted: true } };
    },
    subscribe: ({ subscriptionId, topic, filters }) => {
      filtersOf.set(topic, filters);
      look();
      return { case: "eventDelivery", value: { subscriptionId, topic } };
    },
    publish: ({ topic, eventType, payload = {} }) => {
      published.push({ topic, type: eventType, payload, source: id });
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
  return {
    handlers,
    published,
    /** Resolves when the plugin has subscribed to all that it said it needs. */
    subscribed: subscribed.promise,
    /** Whether the plugin has subscribed to such an event. */
    wants: (topic: string, payload: JsonObject): boolean => {
      const filters = filtersOf.get(topic);
      return filters !== undefined && passes(filters, payload);
    },
  };
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

/** A storage in memory. */
export class MemoryStorage implements storage.Storage {
  readonly #documents = new Map<string, storage.StoredDocument & { readonly modifiedAt: Date }>();

  async read(path: string): Promise<storage.StoredDocument | undefined> {
    return this.#documents.get(storage.storagePath(path));
  }

  async write(path: string, document: storage.Document, expected: number): Promise<number> {
    const name = storage.storagePath(path);
    storage.checkSize(path, "write", document.content.length);
    const present = this.#documents.get(name)?.version;
    storage.checkExpected(path, expected, present);
    const version = (present ?? 0) + 1;
    this.#documents.set(name, { ...document, version, modifiedAt: new Date() });
    return version;
  }

  async delete(path: string): Promise<boolean> {
    return this.#documents.delete(storage.storagePath(path));
  }

  async list(folder: string, pattern = "*"): Promise<storage.StorageEntry[]> {
    const isWanted = storage.storagePattern(pattern);
    const prefix = storage.storageFolder(folder);
    return [...this.#documents]
      .filter(([path]) => prefix === "" || path.startsWith(`${prefix}/`))
      .filter(([path]) => isWanted(path.slice(path.lastIndexOf("/") + 1)))
      .map(([path, { content, version, modifiedAt }]) => ({
        path,
        size: content.length,
        version,
        modifiedAt,
      }))
      .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }
}
