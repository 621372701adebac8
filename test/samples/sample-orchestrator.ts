import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { background } from "../../src/base/background.ts";
import { BusClient } from "../../src/protocol/bus/connect.ts";
import type { PluginManifest } from "../../src/protocol/bus/plugin.gen.ts";
import { type BusHandlers, serveExchange } from "../../src/protocol/bus/serve.ts";
import { connect, listen } from "../../src/wire/quic/transport.ts";
import type { Connection, Listener } from "../../src/wire/quic/connection.ts";
import { type BusCertificates, busCertificates } from "../../src/plugin/bus-certificates.ts";

/** What an orchestrator heard, in order: `register tools.greet`. */
type Heard = string;

/** An orchestrator for tests, on a real network: it hears plugins, and dials them. */
export class SampleOrchestrator implements AsyncDisposable {
  readonly certsDir: string;
  readonly manifests: PluginManifest[] = [];
  readonly #heard: Heard[] = [];
  readonly #certificates: BusCertificates;
  readonly #ending = new AsyncDisposableStack();
  readonly #extra: BusHandlers;
  readonly #connections = new Set<Connection>();
  #listener: Listener | undefined;
  #changed = Promise.withResolvers<void>();

  private constructor(certsDir: string, extra: BusHandlers) {
    this.certsDir = certsDir;
    this.#extra = extra;
    this.#certificates = busCertificates(certsDir, () => {});
  }

  static async open(): Promise<SampleOrchestrator> {
    const certsDir = await mkdtemp(join(tmpdir(), "trunkline-certs-"));
    const orchestrator = new SampleOrchestrator(certsDir, {});
    orchestrator.#ending.defer(() => rm(certsDir, { recursive: true }));
    await orchestrator.listen("localhost:0");
    return orchestrator;
  }

  /** Another one beside it, which uses what it has: its certificates, and the engine that runs. */
  async beside(extra: BusHandlers = {}): Promise<SampleOrchestrator> {
    const orchestrator = new SampleOrchestrator(this.certsDir, extra);
    await orchestrator.listen("localhost:0");
    return orchestrator;
  }

  get address(): string {
    return (this.#listener?.address ?? "").replace("quic://", "");
  }

  async listen(address: string): Promise<void> {
    const service = { handlers: this.#handlers(), report: () => {} };
    this.#listener = await listen(address, {
      credentials: await this.#certificates.of("orchestrator"),
      connected: (connection) => {
        this.#connections.add(connection);
      },
      stream: (stream, connection) =>
        background(serveExchange(stream, connection, service), "Answering on the bus"),
    });
  }

  /** Goes away; `listen` brings it back. */
  async leave(): Promise<void> {
    await Promise.all([...this.#connections].map((connection) => connection.close()));
    this.#connections.clear();
    await this.#listener?.[Symbol.asyncDispose]();
  }

  /** How it speaks to a plugin. */
  dial(address: string, id: string): BusClient {
    return this.#ending.use(
      new BusClient({
        name: `Plugin '${id}'`,
        dial: async (signal) => {
          const credentials = await this.#certificates.of(`orchestrator-to-${id}`);
          return connect(address, { credentials, signal });
        },
      }),
    );
  }

  /** Waits until it has heard so much. */
  async hears(wanted: Heard, times = 1): Promise<void> {
    while (this.#heard.filter((heard) => heard === wanted).length < times) {
      await this.#changed.promise;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listener?.[Symbol.asyncDispose]();
    await this.#ending.disposeAsync();
  }

  #handlers(): BusHandlers {
    return {
      register: (manifest, { connection }) => {
        this.manifests.push(manifest);
        this.#hear(`register ${manifest.id} as ${connection.peer?.name ?? ""}`);
        return { case: "register", value: { accepted: true } };
      },
      subscribe: ({ subscriptionId, topic, filters }) => {
        this.#hear(`subscribe ${topic} ${JSON.stringify(filters)}`);
        return { case: "eventDelivery", value: { subscriptionId, topic } };
      },
      publish: ({ topic, eventType, payload }) => {
        this.#hear(`publish ${topic} ${eventType} ${JSON.stringify(payload)}`);
        return undefined;
      },
      ...this.#extra,
    };
  }

  #hear(what: Heard): void {
    this.#heard.push(what);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
