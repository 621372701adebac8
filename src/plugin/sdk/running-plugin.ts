import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { BusClient } from "../../protocol/bus/connect.ts";
import { openCertificates, PLUGIN_UNIT } from "../../protocol/bus/certificates/certificates.ts";
import { parseAddress } from "../../wire/quic/address.ts";
import type { Connection, Listener } from "../../wire/quic/connection.ts";
import { BusCertificates } from "../bus-certificates.ts";
import { expectOrchestrator, isPlugin } from "../guests.ts";
import type { BusTransport } from "../orchestrator.ts";
import type { PluginFlags } from "./flags.ts";
import type { PluginParts } from "./parts.ts";
import { PluginService } from "./serve/plugin-service.ts";
import { Registration } from "./registration.ts";

export interface RunningPluginOptions {
  readonly parts: PluginParts;
  readonly flags: PluginFlags;
  readonly transport: BusTransport;
  readonly log: Log;
}

/** Calls that call the plugin again must not wait for each other. */
const LISTEN_LIMITS = { maxStreams: 2_112 };

/** A plugin that serves, and stays connected to its orchestrator. */
export class RunningPlugin implements AsyncDisposable {
  /** Resolves when the orchestrator has told it to end, and knows that it will. */
  readonly ended: Promise<void>;
  readonly #options: RunningPluginOptions;
  /**
   * The certificates of an existing CA. A plugin that serves creates no CA: if the bus has ended, its
   * folder may be about to be removed, and nobody would trust the new CA.
   */
  readonly #certificates: BusCertificates;
  readonly #client: BusClient;
  readonly #service: PluginService;
  readonly #registration: Registration;
  readonly #ending = new AsyncDisposableStack();
  #listener: Listener | undefined;

  private constructor(options: RunningPluginOptions) {
    const { parts, flags, log } = options;
    this.#options = options;
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    this.#certificates = new BusCertificates(flags.certsDir, this.#warn, { makesAuthority: false });
    this.#client = this.#ending.use(
      new BusClient({
        name: "The orchestrator",
        dial: (signal) => this.#dial(signal),
        connected: () => this.#registration.connected(),
        lost: (reason) => log.warn("plugin.orchestrator-lost", { reason: reason.message }),
      }),
    );
    this.#service = new PluginService({
      ...{ parts, client: this.#client, log, ended: ended.resolve },
      registered: () => this.#registration.known(),
    });
    this.#registration = new Registration({
      client: this.#client,
      manifest: () => parts.manifest,
      events: parts.events,
      deliver: this.#service.deliver,
      log,
    });
    this.#ending.defer(() => this.#registration.end());
    parts.onChange?.(() => this.#registration.changed());
  }

  static async start(options: RunningPluginOptions): Promise<RunningPlugin> {
    await using opening = new AsyncDisposableStack();
    const plugin = opening.use(new RunningPlugin(options));
    await plugin.#listen();
    plugin.#register();
    opening.move();
    return plugin;
  }

  readonly #warn = (message: string): void => {
    this.#options.log.warn("plugin.certificates", { message });
  };

  /** The address to dial. It has a scheme only if it is not QUIC: other orchestrators know none. */
  get address(): string {
    const { address = "" } = this.#listener ?? {};
    // The orchestrator is on the same machine.
    return address
      .replace(/^quic:\/\//, "")
      .replace(/(^|\/)0\.0\.0\.0:/, "$1127.0.0.1:")
      .replace(/(^|\/)\[::\]:/, "$1[::1]:");
  }

  /** Waits for running calls, for at most so many milliseconds, then cleans up. */
  async shutdown(timeout: number): Promise<boolean> {
    return this.#service.shutdown(timeout);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service.answered();
    await this.#ending.disposeAsync();
  }

  async #listen(): Promise<void> {
    const { parts, flags, transport, log } = this.#options;
    const { host } = parseAddress(flags.listen);
    // One that a person starts may be the first to need a CA.
    await openCertificates(flags.certsDir, { warn: this.#warn }).trusted();
    const followed = await this.#certificates.follow(
      parts.manifest.id,
      { hosts: isLocal(host) ? [] : [host], unit: PLUGIN_UNIT },
      async (credentials) => this.#listener?.renew(credentials),
      (error) => log.error("plugin.not-renewed", { error }),
    );
    this.#ending.defer(followed.stop);
    this.#listener = this.#ending.use(
      await transport.listen(flags.listen, {
        credentials: followed.credentials,
        limits: LISTEN_LIMITS,
        stream: (stream, connection) => {
          // Plugins call each other through the orchestrator, which knows what they may call.
          if (isPlugin(connection)) stream.reset();
          else this.#service.serve(stream, connection);
        },
        connected: (connection) => {
          if (!isPlugin(connection)) return;
          log.warn("plugin.refused", { reason: `Plugin '${connection.peer?.name}' dialled it` });
          background(connection.close(), "Closing a connection");
        },
        refused: (reason) => log.warn("plugin.refused", { reason: reason.message }),
        lost: (reason) => log.error("plugin.listener-lost", { reason: reason.message }),
      }),
    );
  }

  /** Dials now, and whenever the connection is lost. */
  #register(): void {
    const { flags, log } = this.#options;
    if (flags.orchestrator === "") return;
    this.#client.connect().catch((error: unknown) => {
      log.warn("plugin.not-connected", { error: (error as Error).message });
    });
  }

  async #dial(signal: AbortSignal): Promise<Connection> {
    const { parts, flags, transport } = this.#options;
    if (flags.orchestrator === "") {
      throw new TrunklineError("unavailable", "The plugin was started without --orchestrator-addr");
    }
    const name = `${parts.manifest.id}-client`;
    const credentials = await this.#certificates.of(name, { unit: PLUGIN_UNIT });
    return expectOrchestrator(await transport.connect(flags.orchestrator, { credentials, signal }));
  }
}

/** Every certificate is valid for this machine, and none for the addresses that mean all interfaces. */
function isLocal(host: string): boolean {
  return ["localhost", "127.0.0.1", "::1", "0.0.0.0", "::"].includes(host);
}
