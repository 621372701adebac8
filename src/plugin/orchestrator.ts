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
  newGuests,
} from "./guests.ts";
import { busCertificates } from "./bus-certificates.ts";
import { Events } from "./serve/events.ts";
import { firstStarts } from "./plugin/first-starts.ts";
import type { PluginOffer } from "./plugin/known-offer.ts";
import { limitStorage, namespacedStorage, routeStorage } from "./storage/route-storage.ts";
import { Plugin, type PluginStatus } from "./plugin/plugin.ts";
import type { ConfinePlugin } from "./plugin/plugin-process.ts";
import { PluginFolders } from "./plugin/plugin-folder.ts";
import { pluginTools } from "./plugin/plugin-tool.ts";
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
export type Orchestrator = Awaited<ReturnType<typeof openOrchestrator>>;

export async function openOrchestrator(options: OrchestratorOptions) {
  const { offer, log } = options;
  await using opening = new AsyncDisposableStack();
  const closing = opening.use(new AsyncDisposableStack());
  const report = boundedReport((event, fields) => log.warn(event, fields));
  const certificates = busCertificates(options.certsDir, (message) => {
    log.warn("bus.certificates", { message });
  });
  const busEvents = new Events(report);
  const guests = newGuests({
    rightsOf: (id) => (find(id) ?? beingEnded.keys().find((plugin) => plugin.id === id))?.settings,
  });
  const isOnlyQuic = parseAddress(options.listen).scheme === "quic";
  const manifestOf = (id: string) => guests.manifestOf(id);
  const tools = pluginTools(offer, manifestOf);
  const folder = options.folder ?? join(options.certsDir, "run");
  const folders = closing.use(new PluginFolders(folder, certificates));
  const patience = options.firstList ?? FIRST_LIST;
  const starts = firstStarts({ plugins: () => running, manifestOf, patience });
  /** A second listener, if the bus itself listens only over QUIC, or not on this machine. */
  const tlsListener = new Lazy(() => listen("tls://localhost:0", "require"));
  let running: readonly Plugin[] = [];
  /** Plugins that are being ended. Until then they keep their permissions. */
  const beingEnded = new Map<Plugin, Promise<void>>();
  const listen = async (
    given: string,
    clientCertificate: OrchestratorOptions["clientCertificate"],
  ): Promise<Listener> => {
    const { transport } = options;
    const service = serviceOf();
    const failed = (error: unknown): void => log.error("bus.not-renewed", { error });
    const followed = await certificates.follow(
      NAME,
      {},
      async (credentials) => listener.renew(credentials),
      failed,
    );
    closing.defer(followed.stop);
    const listener: Listener = closing.use(
      await transport.listen(given, {
        credentials: followed.credentials,
        clientCertificate,
        limits: { maxStreams: MOST_STREAMS },
        mostOfPeer: (peer) => (guests.isPlugin(peer) ? MOST_CONNECTIONS : undefined),
        stream: (stream, connection) =>
          background(serveExchange(stream, connection, service), "Answering on the bus"),
        refused: (reason) => {
          report("bus.refused", { reason: reason.message });
          certificates.look();
        },
        lost: (reason) => log.error("bus.listener-lost", { reason: reason.message }),
      }),
    );
    return listener;
  };
  /** Takes a connection of a plugin that has a network of its own. */
  const take = async (socket: Socket): Promise<void> => {
    try {
      // A listener that lets in clients without a certificate would let the plugin do more than it may.
      const isStrict = options.clientCertificate === "require";
      const listener = isStrict && mainListener.take !== undefined ? mainListener : undefined;
      (listener ?? (await tlsListener.get())).take?.(socket);
    } catch {
      // The plugin dials again.
      socket.destroy();
    }
  };
  /** Writes down its address, so that `trunkline plugin` finds it. A failure is only logged. */
  const note = async (): Promise<void> => {
    const { certsDir } = options;
    const bus = { address: orchestrator.address, certsDir, pid: process.pid, since: Date.now() };
    try {
      await folders.note(bus);
    } catch (error) {
      log.warn("bus.not-noted", { error });
    }
  };
  const serviceOf = (): BusService => {
    const { offer, storage } = options;
    const providerOf = (type: string): Plugin | undefined =>
      running.findLast((plugin) => tools.storageOf(plugin).includes(type));
    const isNested = ({ connection }: BusCall): boolean => guests.of(connection).isPlugin;
    const bus: Bus = {
      offer,
      events: busEvents,
      guests,
      log,
      report,
      firstStarts: starts,
      tools,
      registered: (id) => find(id)?.registered(),
      deliverTo: (id) => {
        const plugin = find(id);
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
        ({ connection }) => guests.of(connection),
      ),
    };
    return {
      handlers: serveControl(orchestrator, guests, handlers),
      report,
      guard: guestGuard((connection) => guests.of(connection)),
    };
  };
  const apply = async (settings: readonly PluginSettings[]): Promise<void> => {
    const before = new Map(running.map((plugin) => [plugin.id, plugin]));
    const plugins = settings.map((one) => {
      const known = before.get(one.id);
      const isSame = JSON.stringify(known?.settings) === JSON.stringify(one);
      return known !== undefined && isSame ? known : make(one, known?.offer);
    });
    const kept = new Set(plugins);
    running = plugins;
    publish();
    const gone = [...before.values()].filter((plugin) => !kept.has(plugin));
    const ends = gone.map((plugin) => endPlugin(plugin));
    for (const plugin of plugins) plugin.start(left(plugin.id)).catch(() => {});
    await Promise.all(ends);
  };
  const find = (id: string): Plugin | undefined => running.find((plugin) => plugin.id === id);
  /** Resolves when the plugins of that id that are being ended have ended. */
  const left = async (id: string): Promise<void> => {
    const leaving = [...beingEnded].filter(([plugin]) => plugin.id === id);
    await Promise.all(leaving.map(([, end]) => end));
  };
  /** `offer` is what one of the same id, which it takes the place of, has offered. */
  const make = (settings: PluginSettings, offer: PluginOffer | undefined): Plugin => {
    const { transport, limits, confine } = options;
    const held = new HeldBytes(MOST_HELD);
    return new Plugin(settings, {
      log,
      offer,
      folder: () => folders.make(settings.id),
      prefersTls: !isOnlyQuic,
      orchestratorAddress: () => orchestrator.address.replace(/^quic:\/\//, ""),
      confine,
      bus: (socket) => background(take(socket), "Taking a connection of a plugin"),
      dial: async (address, name, signal, reach) => {
        const credentials = await certificates.of(name);
        const connection = await transport.connect(dialled(address), {
          ...{ credentials, signal, held, reach },
        });
        return expectPlugin(connection, settings.id);
      },
      needs: () => running.filter(({ id }) => settings.dependsOn.includes(id)),
      changed: () => publish(),
      ...(limits === undefined ? {} : { limits }),
    });
  };
  /** Plugins of other SDKs name no scheme. A bus that listens only over QUIC dials them over QUIC, too. */
  const dialled = (address: string): string => {
    return isOnlyQuic && parseAddress(address).scheme === "any" ? `quic://${address}` : address;
  };
  const publish = (): void => tools.publish(running);
  const endPlugin = (plugin: Plugin): Promise<void> => {
    busEvents.forget(plugin.id);
    const end = plugin.stop().finally(() => {
      beingEnded.delete(plugin);
      // Not earlier: calls that still run in it may need their rights.
      guests.forget(plugin.id);
    });
    beingEnded.set(plugin, end);
    return end;
  };
  const orchestrator = {
    /** Where it listens, with the port that was picked. */
    get address(): string {
      return mainListener.address;
    },
    status: (): PluginStatus[] => running.map((plugin) => plugin.status()),
    /**
     * Applies the settings: unchanged plugins go on, others are started, ended or restarted. Calls that run
     * in a plugin that ends are completed. Resolves when the removed plugins have ended. Throws, and changes
     * nothing, if the settings are invalid.
     */
    configure(settings: readonly PluginSettings[]): Promise<void> {
      const ordered = startOrder(settings).flat();
      for (const { id } of ordered) checkPluginId(id);
      return apply(ordered);
    },
    /** To be awaited before a list: what plugins offer may not be known yet. */
    known: (): Promise<void> | undefined => starts.known(),
    plugin(id: string): Plugin {
      const plugin = find(id);
      if (plugin !== undefined) return plugin;
      const ids = running.map((one) => one.id);
      const [meant] = suggest(id, ids);
      const hint =
        meant === undefined ? `There are: ${ids.join(", ") || "none"}` : `Is it '${meant}'?`;
      throw new TrunklineError("not-found", `There is no plugin '${id}'. ${hint}`);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      // A plugin ends after those that depend on it. All others end together: each may take seconds.
      const ordered = running.map((plugin) => ({ ...plugin.settings, plugin }));
      for (const wave of startOrder(ordered).toReversed()) {
        await Promise.all(wave.map(({ plugin }) => endPlugin(plugin)));
      }
      await Promise.all(beingEnded.values());
      running = [];
      publish();
      await closing.disposeAsync();
    },
  };
  const mainListener = await listen(options.listen, options.clientCertificate);
  await note();
  opening.move();
  return orchestrator;
}
