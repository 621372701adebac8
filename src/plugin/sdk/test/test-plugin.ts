import { background } from "../../../base/background.ts";
import { Log } from "../../../base/log.ts";
import { answerOf, checkAnswer } from "../../../protocol/bus/answer.ts";
import { BusClient } from "../../../protocol/bus/connect.ts";
import { toStruct } from "../../../protocol/bus/shape/json-struct.ts";
import { HealthResult_Status as Status } from "../../../protocol/bus/plugin.gen.ts";
import { serveExchange } from "../../../protocol/bus/serve.ts";
import { toToolRequest } from "../../../protocol/bus/shape/tool-shape.ts";
import type { CallResult, PluginStorage } from "../context.ts";
import { DefinedPlugin } from "../defined-plugin.ts";
import type {
  Health,
  HealthStatus,
  Plugin,
  PluginEvent,
  PromptMessage,
  Returned,
} from "../definition.ts";
import type { Connection } from "../../../wire/quic/connection.ts";
import { memoryConnection } from "./memory-connection.ts";
import { MemoryOrchestrator } from "./memory-orchestrator.ts";
import { callResult } from "../outside.ts";
import type { PluginParts } from "../parts.ts";
import { PluginService } from "../serve/plugin-service.ts";
import { Registration } from "../registration.ts";
import { remoteStorage } from "../remote-storage.ts";
import { ToolError } from "../tool-error.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A stand-in for a tool of another plugin. */
export type TestTool = (args: Fields) => Returned | Promise<Returned>;

export interface TestPluginOptions {
  /** The configuration that the plugin boots with. */
  readonly config?: Readonly<Record<string, string>>;
  /** The tools that `callTool` reaches, by their names. */
  readonly tools?: Readonly<Record<string, TestTool>>;
  /** Receives the plugin's log lines; without it they are dropped. */
  readonly log?: (line: string) => void;
}

/** A plugin under test, and an orchestrator in memory around it. */
export interface PluginHarness extends AsyncDisposable {
  /** The events that the plugin has published. */
  readonly published: readonly PluginEvent[];
  /** The storage that the plugin writes to. */
  readonly storage: PluginStorage;
  /** Calls a tool. Throws a `ToolError` when it fails. */
  call(name: string, args?: Fields): Promise<CallResult>;
  /** Calls a tool that streams. Leaving the loop cancels the call. */
  stream(name: string, args?: Fields): AsyncGenerator<Uint8Array, void, void>;
  prompt(name: string, args?: Readonly<Record<string, string>>): Promise<PromptMessage[]>;
  /** Publishes an event as another plugin. Resolves when the plugin's handler, if any, has ended. */
  publish(topic: string, type: string, payload?: Fields): Promise<void>;
  health(): Promise<Health>;
  /** Ends the plugin. Resolves to whether it ended well. */
  shutdown(): Promise<boolean>;
  /** Ends the plugin and its orchestrator, as `await using` does. */
  close(): Promise<void>;
}

/** Boots a plugin inside the test, with an orchestrator in memory: no processes, no network. */
export async function testPlugin(
  plugin: Plugin,
  options: TestPluginOptions = {},
): Promise<PluginHarness> {
  await using opening = new AsyncDisposableStack();
  const harness = opening.use(new Harness(DefinedPlugin.take(plugin), options));
  await harness.boot(options.config ?? {});
  opening.move();
  return harness;
}

const HEALTH: Readonly<Record<number, HealthStatus>> = {
  [Status.HEALTHY]: "healthy",
  [Status.DEGRADED]: "degraded",
};

class Harness implements PluginHarness {
  readonly storage: PluginStorage;
  readonly #orchestrator: MemoryOrchestrator;
  readonly #service: PluginService;
  readonly #name: string;
  /** From the plugin to its orchestrator, and back. */
  readonly #there: BusClient;
  readonly #back: BusClient;
  /** The plugin's end of what `#back` asks. */
  #served: Connection | undefined;
  #streams = 0;

  constructor(parts: PluginParts, options: TestPluginOptions) {
    const log = new Log("debug", options.log ?? (() => {}));
    this.#name = `Plugin '${parts.manifest.id}'`;
    this.#orchestrator = new MemoryOrchestrator(parts.manifest.id, options.tools ?? {});
    const orchestrator = {
      handlers: this.#orchestrator.handlers,
      report: (event: string, fields: Record<string, unknown>) => log.warn(event, fields),
    };
    const serve = (...[stream, connection]: Parameters<PluginService["serve"]>): void =>
      background(serveExchange(stream, connection, orchestrator), "Answering on the bus");
    this.#there = new BusClient({
      name: "The orchestrator",
      dial: () => memoryConnection(serve),
      connected: () => registration.connected(),
    });
    this.#service = new PluginService({ parts, client: this.#there, log, ended: () => {} });
    const { manifest, events } = parts;
    const { deliver } = this.#service;
    const registration = new Registration({
      ...{ client: this.#there, manifest: () => manifest, events, deliver, log },
    });
    this.#back = new BusClient({
      name: this.#name,
      dial: () =>
        memoryConnection((stream, connection) => {
          this.#served = connection;
          this.#service.serve(stream, connection);
        }),
    });
    this.storage = remoteStorage(this.#there);
  }

  get published(): readonly PluginEvent[] {
    return this.#orchestrator.published;
  }

  async boot(config: Readonly<Record<string, string>>): Promise<void> {
    await this.#there.connect();
    await this.#orchestrator.subscribed;
    const answer = await this.#back.ask({ case: "boot", value: { config: { ...config } } });
    const { ready, error } = answerOf(this.#name, answer, "boot");
    if (!ready) throw new ToolError("not_booted", `${this.#name} could not boot: ${error}`);
  }

  async call(name: string, args: Fields = {}): Promise<CallResult> {
    const value = toToolRequest({ name, args, caller: "test" });
    const answer = await this.#back.ask({ case: "toolCall", value });
    return callResult(answerOf(this.#name, answer, "toolCall"));
  }

  async *stream(name: string, args: Fields = {}): AsyncGenerator<Uint8Array, void, void> {
    const value = {
      streamId: `test-${++this.#streams}`,
      toolName: name,
      arguments: toStruct(args, "arguments"),
      callerPlugin: "test",
    };
    for await (const answer of this.#back.askForMany({ case: "streamStart", value })) {
      checkAnswer(this.#name, answer);
      const { response } = answer;
      if (response.case === "streamChunk") yield response.value.data;
      if (response.case === "streamEnd" && !response.value.success) {
        throw new ToolError(response.value.errorCode, response.value.errorMessage);
      }
    }
  }

  async prompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
  ): Promise<PromptMessage[]> {
    const value = { promptName: name, arguments: { ...args } };
    const { response } = await this.#back.ask({ case: "promptGet", value });
    if (response.case === "toolCall") throw failed(response.value);
    if (response.case !== "promptGet") return [];
    return response.value.messages.map(({ role, content }) => ({
      role: role === "assistant" ? role : "user",
      text: content?.text ?? "",
    }));
  }

  async publish(topic: string, type: string, payload: Fields = {}): Promise<void> {
    const json = toStruct(payload, "payload");
    if (!this.#orchestrator.wants(topic, json)) return;
    const value = { topic, eventType: type, payload: json, sourcePlugin: "test" };
    const { response } = await this.#back.ask({ case: "publish", value });
    if (response.case === "toolCall") throw failed(response.value);
  }

  async health(): Promise<Health> {
    const answer = await this.#back.ask({ case: "health", value: {} });
    const { status, message, details } = answerOf(this.#name, answer, "health");
    return { status: HEALTH[status] ?? "unhealthy", message, details };
  }

  async shutdown(): Promise<boolean> {
    const answer = await this.#back.ask({ case: "shutdown", value: { timeoutSeconds: 5 } });
    return answerOf(this.#name, answer, "shutdown").clean;
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service.shutdown(0);
    await this.#service.answered();
    // Closed on this side first, so that the last answers arrive.
    await this.#served?.close();
    await this.#back[Symbol.asyncDispose]();
    await this.#there[Symbol.asyncDispose]();
  }
}

function failed({ errorCode, errorMessage }: { errorCode: string; errorMessage: string }): Error {
  return new ToolError(errorCode, errorMessage);
}
