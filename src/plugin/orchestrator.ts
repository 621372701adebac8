import type { Socket } from "node:net";
import { join } from "node:path";

import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import { Lazy } from "../base/lazy.ts";
import type { Log } from "../base/log.ts";
import { suggest } from "../base/text/suggest.ts";
import { startOrder } from "../protocol/bus/plugins-file/start-order.ts";
import {
  type BusCall,
  type BusHandlers,
  type BusService,
  serveExchange,
} from "../protocol/bus/serve.ts";
import type { Offer } from "../tool/offer/offer.ts";
import { parseAddress } from "../wire/quic/address.ts";
import type {
  Connection,
  ConnectOptions,
  Listener,
  ListenOptions,
} from "../wire/quic/connection.ts";
import { HeldBytes } from "../wire/quic/stream/multiplexed-stream.ts";
import {
  boundedReport,
  checkPluginId,
  expectPlugin,
  GUEST_LIMITS,
  guestGuard,
  type Guests,
  newGuests,
} from "./guests.ts";
import { type BusCertificates, busCertificates } from "./bus-certificates.ts";
import { Events } from "./serve/events.ts";
import { type FirstStarts, firstStarts } from "./plugin/first-starts.ts";
import type { PluginOffer } from "./plugin/known-offer.ts";
import { limitStorage, namespacedStorage, routeStorage } from "./storage/route-storage.ts";
import { Plugin, type PluginStatus } from "./plugin/plugin.ts";
import type { ConfinePlugin } from "./plugin/plugin-process.ts";
import { PluginFolders } from "./plugin/plugin-folder.ts";
import { type PluginTools, pluginTools } from "./plugin/plugin-tool.ts";
import { type Bus, serveBus } from "./serve/serve-bus.ts";
import { serveControl } from "./serve/serve-control.ts";
import type { PluginLimits, PluginSettings } from "./plugin/settings.ts";

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
  /** The offer: plugins add to it, and may call its tools. */
  readonly offer: Offer;
  /** Answers requests for the storage that no plugin provides. */
  readonly storage: BusHandlers;
  readonly transport: BusTransport;
  /** Keeps plugins to their permissions; without it, those with permissions are not started. */
  readonly confine?: ConfinePlugin | undefined;
  readonly log: Log;
  readonly limits?: Partial<PluginLimits>;
  /** Where the folders of plugins are made; beside the certificates when left out. */
  readonly folder?: string;
  /** Milliseconds that lists and calls wait for plugins of which nothing is known yet. */
  readonly firstList?: number;
}

const NAME = "orchestrator";
const FIRST_LIST = 5_000;
/**
 * Plugins of other SDKs send all requests on one connection. If a call waited there for a free stream
 * while the calls before it wait for calls of their own, none would end. So a connection may have more
 * streams than a guest may have requests, and requests over the limit are refused.
 */
const MOST_STREAMS = GUEST_LIMITS.exchanges + 64;
/** Connections of one plugin. Our own programs have one for each 64 exchanges that run. */
const MOST_CONNECTIONS = 48;
/** Bytes of unfinished answers of one plugin, on all connections to it. */
const MOST_HELD = 256 * 1024 * 1024;

/** The plugin bus: starts and supervises plugins, and routes requests between them. */
export class Orchestrator implements AsyncDisposable {
  readonly #options: OrchestratorOptions;
  readonly #log: Log;
  readonly #report: BusService["report"];
  readonly #certificates: BusCertificates;
  readonly #events: Events;
  readonly #guests: Guests;
  readonly #tools: PluginTools;
  readonly #folders: PluginFolders;
  readonly #firstStarts: FirstStarts;
  readonly #ending = new AsyncDisposableStack();
  #listener: Listener | undefined;
  /** A second listener, if the bus itself listens only over QUIC, or not on this machine. */
  readonly #tlsListener = new Lazy(() => this.#listen("tls://localhost:0", "require"));
  #plugins: readonly Plugin[] = [];
  /** Plugins that are being ended. Until then they keep their permissions. */
  readonly #leaving = new Map<Plugin, Promise<void>>();

  private constructor(options: OrchestratorOptions) {
    const { offer, log } = options;
    this.#options = options;
    this.#log = log;
    this.#report = boundedReport((event, fields) => log.warn(event, fields));
    this.#events = new Events(this.#report);
    this.#certificates = busCertificates(options.certsDir, (message) => {
      log.warn("bus.certificates", { message });
    });
    this.#guests = newGuests({
      rightsOf: (id) =>
        (this.#find(id) ?? this.#leaving.keys().find((plugin) => plugin.id === id))?.settings,
    });
    const manifestOf = (id: string) => this.#guests.manifestOf(id);
    this.#tools = pluginTools(offer, manifestOf);
    const folder = options.folder ?? join(options.certsDir, "run");
    this.#folders = this.#ending.use(new PluginFolders(folder, this.#certificates));
    const patience = options.firstList ?? FIRST_LIST;
    this.#firstStarts = firstStarts({ plugins: () => this.#plugins, manifestOf, patience });
  }

  /** Begins to listen. Plugins come with `configure`. */
  static async open(options: OrchestratorOptions): Promise<Orchestrator> {
    await using opening = new AsyncDisposableStack();
    const orchestrator = opening.use(new Orchestrator(options));
    orchestrator.#listener = await orchestrator.#listen(options.listen, options.clientCertificate);
    await orchestrator.#note();
    opening.move();
    return orchestrator;
  }

  /** Where it listens, with the port that was picked. */
  get address(): string {
    return this.#listener?.address ?? this.#options.listen;
  }

  status(): PluginStatus[] {
    return this.#plugins.map((plugin) => plugin.status());
  }

  /**
   * Applies the settings: unchanged plugins go on, others are started, ended or restarted. Calls that run
   * in a plugin that ends are completed. Resolves when the removed plugins have ended. Throws, and changes
   * nothing, if the settings are invalid.
   */
  configure(settings: readonly PluginSettings[]): Promise<void> {
    const ordered = startOrder(settings).flat();
    for (const { id } of ordered) checkPluginId(id);
    return this.#apply(ordered);
  }

  /** To be awaited before a list: what plugins offer may not be known yet. */
  known(): Promise<void> | undefined {
    return this.#firstStarts.known();
  }

  plugin(id: string): Plugin {
    const plugin = this.#find(id);
    if (plugin !== undefined) return plugin;
    const ids = this.#plugins.map((one) => one.id);
    const [meant] = suggest(id, ids);
    const hint =
      meant === undefined ? `There are: ${ids.join(", ") || "none"}` : `Is it '${meant}'?`;
    throw new TrunklineError("not-found", `There is no plugin '${id}'. ${hint}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A plugin ends after those that depend on it. All others end together: each may take seconds.
    const ordered = this.#plugins.map((plugin) => ({ ...plugin.settings, plugin }));
    for (const wave of startOrder(ordered).toReversed()) {
      await Promise.all(wave.map(({ plugin }) => this.#end(plugin)));
    }
    await Promise.all(this.#leaving.values());
    this.#plugins = [];
    this.#publish();
    await this.#ending.disposeAsync();
  }

  async #listen(
    listen: string,
    clientCertificate: OrchestratorOptions["clientCertificate"],
  ): Promise<Listener> {
    const { transport } = this.#options;
    const service = this.#service();
    const failed = (error: unknown): void => this.#log.error("bus.not-renewed", { error });
    const followed = await this.#certificates.follow(
      NAME,
      {},
      async (credentials) => listener.renew(credentials),
      failed,
    );
    this.#ending.defer(followed.stop);
    const listener: Listener = this.#ending.use(
      await transport.listen(listen, {
        credentials: followed.credentials,
        clientCertificate,
        limits: { maxStreams: MOST_STREAMS },
        mostOfPeer: (peer) => (this.#guests.isPlugin(peer) ? MOST_CONNECTIONS : undefined),
        stream: (stream, connection) =>
          background(serveExchange(stream, connection, service), "Answering on the bus"),
        refused: (reason) => {
          this.#report("bus.refused", { reason: reason.message });
          this.#certificates.look();
        },
        lost: (reason) => this.#log.error("bus.listener-lost", { reason: reason.message }),
      }),
    );
    return listener;
  }

  /** Takes a connection of a plugin that has a network of its own. */
  async #take(socket: Socket): Promise<void> {
    try {
      // A listener that lets in clients without a certificate would let the plugin do more than it may.
      const isStrict = this.#options.clientCertificate === "require";
      const listener = isStrict && this.#listener?.take !== undefined ? this.#listener : undefined;
      (listener ?? (await this.#tlsListener.get())).take?.(socket);
    } catch {
      // The plugin dials again.
      socket.destroy();
    }
  }

  /** Writes down its address, so that `trunkline plugin` finds it. A failure is only logged. */
  async #note(): Promise<void> {
    const { certsDir } = this.#options;
    const bus = { address: this.address, certsDir, pid: process.pid, since: Date.now() };
    try {
      await this.#folders.note(bus);
    } catch (error) {
      this.#log.warn("bus.not-noted", { error });
    }
  }

  #service(): BusService {
    const { offer, storage } = this.#options;
    const providerOf = (type: string): Plugin | undefined =>
      this.#plugins.findLast((plugin) => this.#tools.storageOf(plugin).includes(type));
    const isNested = ({ connection }: BusCall): boolean => this.#guests.of(connection).isPlugin;
    const bus: Bus = {
      offer,
      events: this.#events,
      guests: this.#guests,
      log: this.#log,
      report: this.#report,
      firstStarts: this.#firstStarts,
      tools: this.#tools,
      registered: (id) => this.#find(id)?.registered(),
      deliverTo: (id) => {
        const plugin = this.#find(id);
        if (plugin === undefined) return undefined;
        return async (value) => {
          await (await plugin.link()).ask({ case: "publish", value }, { isNested: true });
        };
      },
    };
    const handlers: BusHandlers = {
      ...serveBus(bus),
      ...namespacedStorage(
        routeStorage(providerOf, isNested, limitStorage(storage)),
        ({ connection }) => this.#guests.of(connection),
      ),
    };
    return {
      handlers: serveControl(this, this.#guests, handlers),
      report: this.#report,
      guard: guestGuard((connection) => this.#guests.of(connection)),
    };
  }

  async #apply(settings: readonly PluginSettings[]): Promise<void> {
    const before = new Map(this.#plugins.map((plugin) => [plugin.id, plugin]));
    const plugins = settings.map((one) => {
      const known = before.get(one.id);
      const isSame = JSON.stringify(known?.settings) === JSON.stringify(one);
      return known !== undefined && isSame ? known : this.#make(one, known?.offer);
    });
    const kept = new Set(plugins);
    this.#plugins = plugins;
    this.#publish();
    const gone = [...before.values()].filter((plugin) => !kept.has(plugin));
    const ends = gone.map((plugin) => this.#end(plugin));
    for (const plugin of plugins) plugin.start(this.#left(plugin.id)).catch(() => {});
    await Promise.all(ends);
  }

  #find(id: string): Plugin | undefined {
    return this.#plugins.find((plugin) => plugin.id === id);
  }

  /** Resolves when the plugins of that id that are being ended have ended. */
  async #left(id: string): Promise<void> {
    const leaving = [...this.#leaving].filter(([plugin]) => plugin.id === id);
    await Promise.all(leaving.map(([, end]) => end));
  }

  /** `offer` is what one of the same id, which it takes the place of, has offered. */
  #make(settings: PluginSettings, offer: PluginOffer | undefined): Plugin {
    const { transport, limits, confine } = this.#options;
    const held = new HeldBytes(MOST_HELD);
    return new Plugin(settings, {
      log: this.#log,
      offer,
      folder: () => this.#folders.make(settings.id),
      prefersTls: !this.#isOnlyQuic,
      orchestratorAddress: () => this.address.replace(/^quic:\/\//, ""),
      confine,
      bus: (socket) => background(this.#take(socket), "Taking a connection of a plugin"),
      dial: async (address, name, signal, reach) => {
        const credentials = await this.#certificates.of(name);
        const connection = await transport.connect(this.#dialled(address), {
          ...{ credentials, signal, held, reach },
        });
        return expectPlugin(connection, settings.id);
      },
      needs: () => this.#plugins.filter(({ id }) => settings.dependsOn.includes(id)),
      changed: () => this.#publish(),
      ...(limits === undefined ? {} : { limits }),
    });
  }

  get #isOnlyQuic(): boolean {
    return parseAddress(this.#options.listen).scheme === "quic";
  }

  /** Plugins of other SDKs name no scheme. A bus that listens only over QUIC dials them over QUIC, too. */
  #dialled(address: string): string {
    return this.#isOnlyQuic && parseAddress(address).scheme === "any"
      ? `quic://${address}`
      : address;
  }

  #publish(): void {
    this.#tools.publish(this.#plugins);
  }

  #end(plugin: Plugin): Promise<void> {
    this.#events.forget(plugin.id);
    const end = plugin.stop().finally(() => {
      this.#leaving.delete(plugin);
      // Not earlier: calls that still run in it may need their rights.
      this.#guests.forget(plugin.id);
    });
    this.#leaving.set(plugin, end);
    return end;
  }
}
