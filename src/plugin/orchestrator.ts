import { TrunklineError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { suggest } from "../base/suggest.ts";
import { startOrder } from "../protocol/bus/plugins-file/start-order.ts";
import { type BusHandlers, type BusService, serveExchange } from "../protocol/bus/serve.ts";
import type { Offer } from "../tool/offer.ts";
import type {
  Connection,
  ConnectOptions,
  Listener,
  ListenOptions,
} from "../wire/quic/connection.ts";
import { boundedReport } from "./bounded-report.ts";
import { BusCertificates } from "./bus-certificates.ts";
import { Events } from "./events.ts";
import { Guests } from "./guests.ts";
import { Plugin, type PluginStatus } from "./plugin.ts";
import { PluginTools } from "./plugin-tools.ts";
import { serveBus } from "./serve-bus.ts";
import { serveControl } from "./serve-control.ts";
import { routeStorage } from "./route-storage.ts";
import type { PluginLimits, PluginSettings } from "./settings.ts";

/** How the bus reaches others. */
export interface BusTransport {
  listen(address: string, options: ListenOptions): Promise<Listener>;
  connect(address: string, options: ConnectOptions): Promise<Connection>;
}

export interface OrchestratorOptions {
  /** Where to listen: `localhost:50100`, `tls://…`. */
  readonly listen: string;
  readonly certsDir: string;
  /** Whether whoever connects must show a certificate. */
  readonly clientCertificate: "require" | "request";
  /** What plugins offer goes here, and what is here they may call. */
  readonly offer: Offer;
  /** Answers what is asked of storage that no plugin provides. */
  readonly storage: BusHandlers;
  readonly transport: BusTransport;
  readonly log: Log;
  readonly limits?: Partial<PluginLimits>;
  /** Milliseconds that a list waits for plugins that are being started. */
  readonly firstList?: number;
}

const NAME = "orchestrator";
const FIRST_LIST = 5_000;

/** The plugin bus: plugins, started and looked after; and a listener that passes on between them. */
export class Orchestrator implements AsyncDisposable {
  readonly #options: OrchestratorOptions;
  readonly #log: Log;
  readonly #report: BusService["report"];
  readonly #certificates: BusCertificates;
  readonly #events: Events;
  readonly #guests = new Guests();
  readonly #tools: PluginTools;
  readonly #ending = new AsyncDisposableStack();
  #listener: Listener | undefined;
  #plugins: readonly Plugin[] = [];

  private constructor(options: OrchestratorOptions) {
    const { offer, log } = options;
    this.#options = options;
    this.#log = log;
    this.#report = boundedReport((event, fields) => log.warn(event, fields));
    this.#events = new Events({ report: this.#report });
    this.#certificates = new BusCertificates(options.certsDir, (message) => {
      log.warn("bus.certificates", { message });
    });
    this.#tools = new PluginTools(offer, (id) => this.#guests.manifestOf(id));
  }

  /** Begins to listen. Plugins come with `configure`. */
  static async open(options: OrchestratorOptions): Promise<Orchestrator> {
    const orchestrator = new Orchestrator(options);
    try {
      await orchestrator.#listen();
    } catch (error) {
      await orchestrator[Symbol.asyncDispose]();
      throw error;
    }
    return orchestrator;
  }

  /** Where it listens, with the port that was picked. */
  get address(): string {
    return this.#listener?.address ?? this.#options.listen;
  }

  status(): PluginStatus[] {
    return this.#plugins.map((plugin) => plugin.status());
  }

  /** Brings the plugins in line with the settings: those that are the same go on as they are. */
  async configure(settings: readonly PluginSettings[]): Promise<void> {
    const before = new Map(this.#plugins.map((plugin) => [plugin.id, plugin]));
    const ordered = startOrder(settings).flat();
    const plugins = ordered.map((one) => {
      const known = before.get(one.id);
      const isSame = JSON.stringify(known?.settings) === JSON.stringify(one);
      return known !== undefined && isSame ? known : this.#make(one);
    });
    const kept = new Set(plugins);
    this.#plugins = plugins;
    const gone = [...before.values()].filter((plugin) => !kept.has(plugin));
    await Promise.all(gone.map((plugin) => this.#end(plugin)));
    for (const plugin of plugins) plugin.start().catch(() => {});
    this.#publish();
  }

  /** Waits for plugins that are being started, for a bounded time; undefined when none is. */
  known(): Promise<void> | undefined {
    const starting = this.#plugins.filter(({ state }) => state === "starting");
    if (starting.length === 0) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#options.firstList ?? FIRST_LIST);
    const all = Promise.allSettled(starting.map((plugin) => plugin.start()));
    return Promise.race([all.then(() => {}), promise]).finally(() => clearTimeout(timer));
  }

  plugin(id: string): Plugin {
    const plugin = this.#plugins.find((one) => one.id === id);
    if (plugin !== undefined) return plugin;
    const ids = this.#plugins.map((one) => one.id);
    const [meant] = suggest(id, ids);
    const hint =
      meant === undefined ? `There are: ${ids.join(", ") || "none"}` : `Is it '${meant}'?`;
    throw new TrunklineError("not-found", `There is no plugin '${id}'. ${hint}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const plugins = this.#plugins.toReversed();
    this.#plugins = [];
    // What others need ends after them.
    for (const plugin of plugins) await this.#end(plugin);
    this.#tools.publish([]);
    await this.#ending.disposeAsync();
  }

  async #listen(): Promise<void> {
    const { listen, clientCertificate, transport } = this.#options;
    const service = this.#service();
    const failed = (error: unknown): void => this.#log.error("bus.not-renewed", { error });
    const followed = await this.#certificates.follow(
      NAME,
      [],
      async (credentials) => this.#listener?.renew(credentials),
      failed,
    );
    this.#ending.defer(followed.stop);
    this.#listener = this.#ending.use(
      await transport.listen(listen, {
        credentials: followed.credentials,
        clientCertificate,
        stream: (stream, connection) => void serveExchange(stream, connection, service),
        refused: (reason) => this.#report("bus.refused", { reason: reason.message }),
        lost: (reason) => this.#log.error("bus.listener-lost", { reason: reason.message }),
      }),
    );
  }

  #service(): BusService {
    const { offer, storage } = this.#options;
    const providerOf = (type: string): Plugin | undefined =>
      this.#plugins.findLast((plugin) => this.#tools.storageOf(plugin).includes(type));
    const handlers: BusHandlers = {
      ...serveBus({
        offer,
        events: this.#events,
        guests: this.#guests,
        log: this.#log,
        isPluginTool: (name) => this.#tools.has(name),
        deliverTo: (id) => {
          const plugin = this.#plugins.find((one) => one.id === id);
          if (plugin === undefined) return undefined;
          return async (value) => {
            await plugin.client.ask({ case: "publish", value });
          };
        },
      }),
      ...routeStorage(providerOf, storage),
    };
    return { handlers: serveControl(this, this.#guests, handlers), report: this.#report };
  }

  #make(settings: PluginSettings): Plugin {
    const { certsDir, transport, limits } = this.#options;
    return new Plugin(settings, {
      log: this.#log,
      certsDir,
      orchestratorAddress: () => plainAddress(this.address),
      dial: async (address, name, signal) => {
        const credentials = await this.#certificates.of(name);
        return transport.connect(address, { credentials, signal });
      },
      needs: () => this.#plugins.filter(({ id }) => settings.dependsOn.includes(id)),
      changed: () => this.#publish(),
      ...(limits === undefined ? {} : { limits }),
    });
  }

  #publish(): void {
    this.#tools.publish(this.#plugins);
  }

  async #end(plugin: Plugin): Promise<void> {
    this.#events.forget(plugin.id);
    await plugin.stop();
  }
}

/** Plugins of other makers know no schemes. */
function plainAddress(address: string): string {
  return address.replace(/^quic:\/\//, "");
}
