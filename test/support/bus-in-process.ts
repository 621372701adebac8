import { Log } from "../../src/base/log.ts";
import { busCertificates } from "../../src/plugin/bus-certificates.ts";
import { busContext } from "../../src/plugin/bus-context.ts";
import { openOrchestrator, type Orchestrator } from "../../src/plugin/orchestrator.ts";
import type { PluginStatus } from "../../src/plugin/plugin/plugin.ts";
import {
  DEFAULT_PLUGIN_LIMITS,
  type PluginLimits,
  type PluginSettings,
} from "../../src/plugin/plugin/settings.ts";
import { BusClient } from "../../src/protocol/bus/connect.ts";
import { Offer } from "../../src/tool/offer/offer.ts";
import type { ToolResult } from "../../src/tool/tool.ts";
import { connect, listen } from "../../src/wire/quic/transport.ts";
import type { BusHome, PluginEntry } from "./bus-home.ts";

/** Short, so that a test sees in a second what takes a minute otherwise. */
const LIMITS: Partial<PluginLimits> = {
  firstWait: 50,
  longestWait: 50,
  mostFailures: 1_000,
  shutdown: 500,
};

export interface BusInProcessOptions extends Partial<PluginLimits> {
  readonly listen?: string;
  /** Milliseconds that lists and calls wait for plugins of which nothing is known yet. */
  readonly firstList?: number;
}

/** An orchestrator in this process, so that its limits can be set. */
export class BusInProcess implements AsyncDisposable {
  readonly offer = new Offer();
  readonly orchestrator: Orchestrator;
  /** Lines of its log. */
  readonly lines: string[];
  readonly #home: BusHome;
  /** Those of plugins that are made from now on: the orchestrator reads them here. */
  readonly #limits: Partial<PluginLimits>;
  readonly #usual: Partial<PluginLimits>;
  readonly #guests = new AsyncDisposableStack();

  private constructor(
    home: BusHome,
    orchestrator: Orchestrator,
    offer: Offer,
    lines: string[],
    limits: Partial<PluginLimits>,
  ) {
    this.#home = home;
    this.#limits = limits;
    this.#usual = { ...DEFAULT_PLUGIN_LIMITS, ...limits };
    this.orchestrator = orchestrator;
    this.offer = offer;
    this.lines = lines;
  }

  static async open(
    home: BusHome,
    plugins: readonly PluginEntry[],
    { listen: address = "localhost:0", firstList, ...given }: BusInProcessOptions = {},
  ): Promise<BusInProcess> {
    const limits = { ...LIMITS, ...given };
    const offer = new Offer();
    const lines: string[] = [];
    const orchestrator = await openOrchestrator({
      listen: address,
      certsDir: home.certs,
      clientCertificate: "require",
      offer,
      storage: {},
      transport: { listen, connect },
      log: new Log("info", (line) => void lines.push(line)),
      limits,
      ...(firstList === undefined ? {} : { firstList }),
    });
    await orchestrator.configure(plugins.map(settingsOf));
    return new BusInProcess(home, orchestrator, offer, lines, limits);
  }

  /** Changes the plugins. Only those that are new get these limits; the others keep theirs. */
  async configure(
    plugins: readonly PluginEntry[],
    limits: Partial<PluginLimits> = {},
  ): Promise<void> {
    Object.assign(this.#limits, this.#usual, limits);
    await this.orchestrator.configure(plugins.map(settingsOf));
  }

  /** Somebody who dials the bus with a certificate of that name. */
  guest(name = "transport.test-client"): BusClient {
    return this.#guests.use(
      new BusClient({
        name: "The bus",
        dial: async () =>
          connect(this.orchestrator.address, {
            credentials: await busCertificates(this.#home.certs, () => {}).of(name),
          }),
      }),
    );
  }

  status(id: string): PluginStatus {
    return this.orchestrator.plugin(id).status();
  }

  /** Waits until a plugin is as wanted. */
  async until(id: string, isWanted: (status: PluginStatus) => boolean): Promise<PluginStatus> {
    for (;;) {
      const status = this.status(id);
      if (isWanted(status)) return status;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async call(
    name: string,
    args: object = {},
    controller = new AbortController(),
  ): Promise<ToolResult> {
    const log = new Log("error", () => {});
    const context = busContext({ name }, { name: "tester", signal: controller.signal, log });
    return this.offer.tools.call(name, { ...args }, context);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#guests.disposeAsync();
    await this.orchestrator[Symbol.asyncDispose]();
  }
}

function settingsOf(entry: PluginEntry): PluginSettings {
  return {
    id: entry.id,
    binary: entry.binary,
    args: entry.args ?? [],
    env: entry.env ?? {},
    config: entry.config ?? {},
    providesStorage: entry.provides_storage ?? [],
    providesAi: [],
    ...(entry.needs_tools === undefined ? {} : { needsTools: entry.needs_tools }),
    ...(entry.approved_tools && { permissions: { everything: true, tools: entry.approved_tools } }),
    dependsOn: entry.depends_on ?? [],
  };
}

/** What a person reads of a result. */
export function wordsOf({ content }: ToolResult): string {
  return content.map(({ text }) => (typeof text === "string" ? text : "")).join("\n");
}
