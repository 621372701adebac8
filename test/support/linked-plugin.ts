import { background } from "../../src/base/background.ts";
import type { AskedPlugin } from "../../src/plugin/plugin/plugin.ts";
import { PluginLink } from "../../src/plugin/plugin/plugin-link.ts";
import { DEFAULT_PLUGIN_LIMITS } from "../../src/plugin/plugin/settings.ts";
import { MemoryConnection } from "../../src/plugin/sdk/test/memory-connection.ts";
import { BusClient } from "../../src/protocol/bus/connect.ts";
import { type BusHandlers, type BusService, serveExchange } from "../../src/protocol/bus/serve.ts";

/** A connection to handlers in this process. */
export function memoryConnection(
  handlers: BusHandlers,
  more: Partial<BusService> = {},
): MemoryConnection {
  const service = { handlers, report: () => {}, ...more };
  return new MemoryConnection((stream, connection) => {
    background(serveExchange(stream, connection, service), "Answering in a test");
  });
}

/** Whoever asks those handlers. */
export function memoryClient(handlers: BusHandlers): BusClient {
  return new BusClient({ name: "It", dial: async () => memoryConnection(handlers) });
}

/** A plugin that handlers in this process answer for. */
export class LinkedPlugin implements AskedPlugin, AsyncDisposable {
  readonly id: string;
  readonly #link: PluginLink;

  constructor(handlers: BusHandlers, id = "sample") {
    this.id = id;
    this.#link = new PluginLink({
      id,
      limits: DEFAULT_PLUGIN_LIMITS,
      dial: async () => memoryConnection(handlers),
    });
  }

  link(): PluginLink {
    return this.#link;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#link[Symbol.asyncDispose]();
  }
}
