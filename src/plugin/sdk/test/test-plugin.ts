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
import { memoryOrchestrator } from "./memory-orchestrator.ts";
import { callResult } from "../orchestrator-access.ts";
import { pluginService } from "../serve/plugin-service.ts";
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

const HEALTH: Readonly<Record<number, HealthStatus>> = {
  [Status.HEALTHY]: "healthy",
  [Status.DEGRADED]: "degraded",
};

/** Boots a plugin inside the test, with an orchestrator in memory: no processes, no network. */
export async function testPlugin(
  plugin: Plugin,
  { config = {}, tools = {}, log: tell = () => {} }: TestPluginOptions = {},
): Promise<PluginHarness> {
  const parts = DefinedPlugin.take(plugin);
  const { manifest, events } = parts;
  const whom = `Plugin '${manifest.id}'`;
  const log = new Log("debug", tell);
  const report = (event: string, fields: Record<string, unknown>): void => log.warn(event, fields);
  const { handlers, published, subscribed, wants } = memoryOrchestrator(manifest.id, tools);
  // From the plugin to its orchestrator, and back.
  const there = new BusClient({
    name: "The orchestrator",
    dial: () =>
      memoryConnection((stream, connection) => {
        background(serveExchange(stream, connection, { handlers, report }), "Answering on the bus");
      }),
    connected: () => registration.connected(),
  });
  const service = pluginService({ parts, client: there, log, ended: () => {} });
  const registration = new Registration({
    ...{ client: there, manifest: () => manifest, events, deliver: service.deliver, log },
  });
  /** The plugin's end of what `back` asks. */
  let served: Connection | undefined;
  const back = new BusClient({
    name: whom,
    dial: () =>
      memoryConnection((stream, connection) => {
        served = connection;
        service.serve(stream, connection);
      }),
  });
  const close = async (): Promise<void> => {
    await service.shutdown(0);
    await service.answered();
    // Closed on this side first, so that the last answers arrive.
    await served?.close();
    await back[Symbol.asyncDispose]();
    await there[Symbol.asyncDispose]();
  };
  await using opening = new AsyncDisposableStack();
  opening.defer(close);
  await there.connect();
  await subscribed;
  const booted = await back.ask({ case: "boot", value: { config: { ...config } } });
  const { ready, error } = answerOf(whom, booted, "boot");
  if (!ready) throw new ToolError("not_booted", `${whom} could not boot: ${error}`);
  opening.move();
  let streams = 0;
  return {
    published,
    storage: remoteStorage(there),
    async call(name, args = {}) {
      const value = toToolRequest({ name, args, caller: "test" });
      return callResult(answerOf(whom, await back.ask({ case: "toolCall", value }), "toolCall"));
    },
    async *stream(name, args = {}) {
      const value = {
        streamId: `test-${++streams}`,
        toolName: name,
        arguments: toStruct(args, "arguments"),
        callerPlugin: "test",
      };
      for await (const answer of back.askForMany({ case: "streamStart", value })) {
        checkAnswer(whom, answer);
        const { response } = answer;
        if (response.case === "streamChunk") yield response.value.data;
        if (response.case === "streamEnd" && !response.value.success) throw failed(response.value);
      }
    },
    async prompt(name, args = {}) {
      const value = { promptName: name, arguments: { ...args } };
      const { response } = await back.ask({ case: "promptGet", value });
      if (response.case === "toolCall") throw failed(response.value);
      if (response.case !== "promptGet") return [];
      return response.value.messages.map(({ role, content }) => ({
        role: role === "assistant" ? role : "user",
        text: content?.text ?? "",
      }));
    },
    async publish(topic, type, payload = {}) {
      const json = toStruct(payload, "payload");
      if (!wants(topic, json)) return;
      const value = { topic, eventType: type, payload: json, sourcePlugin: "test" };
      const { response } = await back.ask({ case: "publish", value });
      if (response.case === "toolCall") throw failed(response.value);
    },
    async health() {
      const answer = await back.ask({ case: "health", value: {} });
      const { status, message, details } = answerOf(whom, answer, "health");
      return { status: HEALTH[status] ?? "unhealthy", message, details };
    },
    async shutdown() {
      const answer = await back.ask({ case: "shutdown", value: { timeoutSeconds: 5 } });
      return answerOf(whom, answer, "shutdown").clean;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function failed({ errorCode, errorMessage }: { errorCode: string; errorMessage: string }): Error {
  return new ToolError(errorCode, errorMessage);
}
