import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { onAbort } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { Backoff } from "../../base/limit/backoff.ts";
import type { Log } from "../../base/log.ts";
import { answerOf, checkAnswer } from "../../protocol/bus/answer.ts";
import type { BusClient } from "../../protocol/bus/connect.ts";
import { PluginManifestSchema } from "../../protocol/bus/plugin.gen.ts";
import type { EventSpec, Manifest } from "./definition.ts";
import { ORCHESTRATOR } from "./orchestrator-access.ts";
import type { EventDeliverer } from "./serve/plugin-service.ts";

export interface RegistrationOptions {
  readonly client: BusClient;
  /** Read for each registration: what a plugin offers may change. */
  readonly manifest: () => Manifest;
  readonly events: ReadonlyMap<string, EventSpec>;
  readonly deliver: EventDeliverer;
  readonly log: Log;
}

/** Milliseconds for the answer to a registration. */
const TIMEOUT = 10_000;
const BACKOFF = { firstWait: 200, longestWait: 10_000, mostFailures: Infinity, rest: 10_000 };

/** Registers a plugin with its orchestrator, on every new connection. */
export class Registration {
  readonly #options: RegistrationOptions;
  readonly #backoff = new Backoff(BACKOFF);
  readonly #first = Promise.withResolvers<void>();
  #isKnown = false;
  #present = new AbortController();

  constructor(options: RegistrationOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the first registration has succeeded or failed: before it, the orchestrator lets the
   * plugin call nothing. Undefined once the plugin is registered.
   */
  known(): Promise<void> | undefined {
    if (this.#isKnown) return undefined;
    return this.#options.client.connect().then(
      () => this.#first.promise,
      // A call fails with the same reason.
      () => {},
    );
  }

  /** The manifest has changed. Without a connection, it is sent with the next one. */
  changed(): void {
    if (this.#options.client.isUp) this.connected();
  }

  /** Registers and subscribes again, on a new connection. */
  connected(): void {
    this.end();
    this.#present = new AbortController();
    background(
      this.#repeat(this.#present.signal, (signal) => this.#register(signal)),
      "Registering",
    );
  }

  end(): void {
    this.#present.abort(new Error("The connection was replaced"));
  }

  /** Repeats the work until it succeeds, or the connection is replaced. */
  async #repeat(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await work(signal);
      this.#backoff.succeeded();
    } catch (error) {
      if (signal.aborted) return;
      const wait = this.#backoff.failed();
      this.#options.log.warn("plugin.not-registered", { error, retryInMs: wait });
      const timer = setTimeout(
        () => background(this.#repeat(signal, work), "Trying again"),
        wait,
      ).unref();
      onAbort(signal, () => clearTimeout(timer));
    }
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { client, manifest, events, log } = this.#options;
    const { permissions: _, ...known } = manifest();
    const value = fromJson(PluginManifestSchema, known as object as JsonObject);
    const answer = await client
      .ask({ case: "register", value }, { signal, timeout: TIMEOUT })
      .finally(() => this.#first.resolve());
    this.#isKnown = true;
    const { accepted, rejectReason } = answerOf(ORCHESTRATOR, answer, "register");
    if (!accepted) {
      // A retry would be refused again. The plugin's tools can still be called.
      log.error("plugin.rejected", { reason: rejectReason });
      return;
    }
    log.info("plugin.registered");
    for (const [topic, spec] of events) {
      background(
        this.#repeat(signal, (signal) => this.#subscribe(topic, spec, signal)),
        "Subscribing",
      );
    }
  }

  /**
   * An orchestrator that can dial the plugin sends events as requests, and only confirms here. Others
   * send them as further answers, as long as the connection lasts.
   */
  async #subscribe(topic: string, { filters = {} }: EventSpec, signal: AbortSignal): Promise<void> {
    const { client, manifest, deliver, log } = this.#options;
    const value = { subscriptionId: `${manifest().id}:${topic}`, topic, filters: { ...filters } };
    let isConfirmed = false;
    for await (const answer of client.askForMany({ case: "subscribe", value }, { signal })) {
      checkAnswer(ORCHESTRATOR, answer);
      const { response } = answer;
      if (!isConfirmed) log.info("plugin.subscribed", { topic });
      else if (response.case === "eventDelivery") {
        await deliver(response.value).catch((error: unknown) => {
          log.warn("plugin.event-failed", { topic, error });
        });
      }
      isConfirmed = true;
    }
  }
}
