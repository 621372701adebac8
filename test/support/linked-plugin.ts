import { background } from "../../src/base/background.ts";
import type { AskedPlugin } from "../../src/plugin/plugin/plugin.ts";
import { type PluginLink, pluginLink } from "../../src/plugin/plugin/plugin-link.ts";
import { DEFAULT_PLUGIN_LIMITS } from "../../src/plugin/plugin/settings.ts";
import { memoryConnection } from "../../src/plugin/sdk/test/memory-connection.ts";
import { BusClient } from "../../src/protocol/bus/connect.ts";
import { type BusHandlers, serveExchange } from "../../src/protocol/bus/serve.ts";
import type { Connection, PeerCertificate } from "../../src/wire/quic/connection.ts";

/** A connection to handlers in this process. */
export function connectionTo(handlers: BusHandlers, peer?: PeerCertificate): Promise<Connection> {
  const service = { handlers, report: () => {} };
  return memoryConnection((stream, connection) => {
    background(serveExchange(stream, connection, service), "Answering in a test");
  }, peer);
}

/** Whoever asks those handlers. */
export function memoryClient(handlers: BusHandlers): BusClient {
  return new BusClient({ name: "It", dial: () => connectionTo(handlers) });
}

/** A plugin that handlers in this process answer for. */
export class LinkedPlugin implements AskedPlugin, AsyncDisposable {
  readonly id: string;
  readonly #link: PluginLink;

  constructor(handlers: BusHandlers, id = "sample") {
    this.id = id;
    this.#link = pluginLink({
      id,
      limits: DEFAULT_PLUGIN_LIMITS,
      dial: () => connectionTo(handlers),
    });
  }

  link(): PluginLink {
    return this.#link;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#link[Symbol.asyncDispose]();
  }
}
