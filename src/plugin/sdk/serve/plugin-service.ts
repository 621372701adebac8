import { background } from "../../../base/background.ts";
import type { Log } from "../../../base/log.ts";
import type { BusClient } from "../../../protocol/bus/connect.ts";
import { type BusService, serveExchange } from "../../../protocol/bus/serve.ts";
import type { BidiStream, Connection } from "../../../wire/quic/connection.ts";
import { Outside } from "../outside.ts";
import type { PluginParts } from "../parts.ts";
import { RunningCalls } from "./running-calls.ts";
import { type Deliver, deliverTo, serveEvents } from "./serve-events.ts";
import { serveLifecycle } from "./serve-lifecycle.ts";
import { servePrompts } from "./serve-prompts.ts";
import { serveProviders } from "./serve-providers.ts";
import { serveStreams } from "./serve-streams.ts";
import { serveTools } from "./serve-tools.ts";

export interface PluginServiceOptions {
  readonly parts: PluginParts;
  /** To the orchestrator. */
  readonly client: BusClient;
  readonly log: Log;
  readonly registered?: () => Promise<void> | undefined;
  /** The orchestrator wants it to end; what it was told has been answered by then. */
  readonly ended: () => void;
}

/** Kept from a shutdown's time, for the answer to arrive. */
const MARGIN = 500;
/** For answers that are still on their way when all is over. */
const LAST_WORDS = 1_000;

/** A plugin at work, whatever it is reached by. */
export class PluginService {
  readonly deliver: Deliver;
  readonly #parts: PluginParts;
  readonly #log: Log;
  readonly #calls = new RunningCalls();
  readonly #service: BusService;
  #exchanges = 0;
  #quiet: PromiseWithResolvers<void> | undefined;
  #shutdown: Promise<boolean> | undefined;

  constructor({ parts, client, log, registered, ended }: PluginServiceOptions) {
    this.#parts = parts;
    this.#log = log;
    const { tools, manifest } = parts;
    const storageType = manifest.needs_storage[0] ?? "";
    const outside = new Outside({
      ...{ id: manifest.id, client, log, storageType },
      ...(registered === undefined ? {} : { registered }),
    });
    const context = { tools, outside, calls: this.#calls, log };
    this.deliver = deliverTo(parts.events, context);
    const lifecycle = {
      shutdown: async (timeout: number): Promise<boolean> => {
        const isClean = await this.shutdown(Math.max(0, timeout - MARGIN));
        setImmediate(() => background(this.answered().then(ended), "Ending the plugin"));
        return isClean;
      },
    };
    this.#service = {
      handlers: {
        ...serveTools(context),
        ...serveStreams(context),
        ...servePrompts(parts.prompts, context),
        ...serveProviders(parts.storage, context),
        ...serveEvents(this.deliver, context),
        ...serveLifecycle(parts, context, lifecycle),
      },
      report: (event, fields) => log.warn(event, fields),
    };
  }

  /** Answers what comes on one stream. */
  serve(stream: BidiStream, connection: Connection): void {
    this.#exchanges++;
    background(
      serveExchange(stream, connection, this.#service).finally(this.#ended),
      "Answering on the bus",
    );
  }

  readonly #ended = (): void => {
    if (--this.#exchanges === 0) this.#quiet?.resolve();
  };

  /**
   * Waits for what runs, at most so many milliseconds, and calls the rest off; then lets the plugin
   * clean up. Resolves to whether that went well.
   */
  shutdown(timeout: number): Promise<boolean> {
    this.#shutdown ??= this.#end(timeout);
    return this.#shutdown;
  }

  /** Resolves when all answers are on their way, or soon. */
  async answered(): Promise<void> {
    if (this.#exchanges === 0) return;
    this.#quiet ??= Promise.withResolvers();
    const timer = setTimeout(this.#quiet.resolve, LAST_WORDS);
    await this.#quiet.promise;
    clearTimeout(timer);
  }

  async #end(timeout: number): Promise<boolean> {
    await this.#calls.idle(timeout);
    this.#calls.stopAll(new Error("The plugin is shutting down"));
    try {
      await this.#parts.shutdown?.();
      return true;
    } catch (error) {
      this.#log.error("plugin.not-shut-down", { error });
      return false;
    }
  }
}
