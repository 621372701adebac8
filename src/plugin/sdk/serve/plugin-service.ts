import { atMost, reasonOf } from "../../../base/abort.ts";
import { background } from "../../../base/background.ts";
import { TrunklineError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import type { BusClient } from "../../../protocol/bus/connect.ts";
import { FAILURE, failure, type ToolResponseInit } from "../../../protocol/bus/failure.ts";
import {
  type EventDelivery,
  HealthResult_Status as Status,
  type Publish,
  type StreamStart,
  type ToolRequest,
} from "../../../protocol/bus/plugin.gen.ts";
import { type BusHandlers, type BusService, serveExchange } from "../../../protocol/bus/serve.ts";
import { toBusPrompt } from "../../../protocol/bus/shape/prompt-shape.ts";
import {
  fromToolRequest,
  toBusTool,
  type ToolCall,
} from "../../../protocol/bus/shape/tool-shape.ts";
import { argumentProblem } from "../../../tool/schema/plain-schema.ts";
import type { BidiStream, Connection } from "../../../wire/quic/connection.ts";
import { Pieces } from "../../serve/pieces.ts";
import { type SendPiece, streamHandlers } from "../../serve/stream-handlers.ts";
import { serveStorage } from "../../storage/serve-storage.ts";
import { EXPECT_ANYTHING, type Storage } from "../../storage/storage.ts";
import type { EventSpec, Health, HealthStatus, StorageProvider } from "../definition.ts";
import { type OrchestratorAccess, orchestratorAccess } from "../orchestrator-access.ts";
import type { PluginParts, PromptPart, ToolPart } from "../parts.ts";
import { chunkBytes, returned, thrown, thrownResponse } from "../returned.ts";
import { ToolError } from "../tool-error.ts";
import { untilStopped } from "../until-stopped.ts";
import { RunningCalls } from "./running-calls.ts";

export interface PluginServiceOptions {
  readonly parts: PluginParts;
  /** To the orchestrator. */
  readonly client: BusClient;
  readonly log: Log;
  readonly registered?: () => Promise<void> | undefined;
  /** Called when the orchestrator has asked the plugin to end, after that request was answered. */
  readonly ended: () => void;
}

/** Milliseconds of the shutdown time that are reserved for sending the answer. */
const MARGIN = 500;
/** Milliseconds for answers that are still being sent at the end. */
const LAST_WORDS = 1_000;

/** Answers the requests to a plugin, over any transport. */
export function pluginService({ parts, client, log, registered, ended }: PluginServiceOptions) {
  const { tools, manifest } = parts;
  const calls = new RunningCalls();
  let exchanges = 0;
  let quiet: PromiseWithResolvers<void> | undefined;
  let ending: Promise<boolean> | undefined;
  const outside = orchestratorAccess({
    ...{ id: manifest.id, client, log, storageType: manifest.needs_storage[0] ?? "" },
    ...(registered === undefined ? {} : { registered }),
  });
  const context = { tools, outside, calls, log };
  const deliver = deliverTo(parts.events, context);
  /** Resolves when all answers have been sent, or after a short time. */
  const answered = async (): Promise<void> => {
    if (exchanges === 0) return;
    quiet ??= Promise.withResolvers();
    await atMost(LAST_WORDS, quiet.promise);
  };
  const end = async (timeout: number): Promise<boolean> => {
    await calls.idle(timeout);
    calls.stopAll(new Error("The plugin is shutting down"));
    try {
      await parts.shutdown?.();
      return true;
    } catch (error) {
      log.error("plugin.not-shut-down", { error });
      return false;
    }
  };
  /**
   * Waits for running calls, for at most so many milliseconds, and cancels the rest; then lets the plugin
   * clean up. Resolves to whether that succeeded.
   */
  const shutdown = (timeout: number): Promise<boolean> => (ending ??= end(timeout));
  const askedToEnd = async (timeout: number): Promise<boolean> => {
    const isClean = await shutdown(Math.max(0, timeout - MARGIN));
    setImmediate(() => background(answered().then(ended), "Ending the plugin"));
    return isClean;
  };
  const service: BusService = {
    handlers: {
      ...serveTools(context),
      ...serveStreams(context),
      ...servePrompts(parts.prompts, context),
      ...serveProviders(parts.storage, context),
      ...serveEvents(deliver, context),
      ...serveLifecycle(parts, context, askedToEnd),
    },
    report: (event, fields) => log.warn(event, fields),
  };
  /** Answers the request on one stream. */
  const serve = (stream: BidiStream, connection: Connection): void => {
    exchanges++;
    const answering = serveExchange(stream, connection, service).finally(() => {
      if (--exchanges === 0) quiet?.resolve();
    });
    background(answering, "Answering on the bus");
  };
  return { deliver, serve, shutdown, answered };
}

/** The parts that all handlers of a plugin share. */
interface HandlerContext {
  readonly tools: ReadonlyMap<string, ToolPart>;
  readonly outside: OrchestratorAccess;
  readonly calls: RunningCalls;
  readonly log: Log;
}

/** Answers calls of a plugin's tools. */
export function serveTools(context: HandlerContext): BusHandlers {
  const { tools, calls } = context;
  return {
    listTools: () => {
      const list = [...tools.values()].map(({ definition }) => toBusTool(definition));
      return { case: "listTools", value: { tools: list } };
    },
    toolCall: async (request, call) => ({
      case: "toolCall",
      value: await calls.run(call, (signal) => answer(context, request, signal)),
    }),
  };
}

async function answer(
  { tools, outside, log }: HandlerContext,
  request: ToolRequest,
  signal: AbortSignal,
): Promise<ToolResponseInit> {
  try {
    const call = fromToolRequest(request);
    const { name, args = {} } = call;
    const tool = tools.get(name);
    if (tool === undefined) return failure(FAILURE.toolNotFound, `tool "${name}" not found`);
    const problem = await argumentProblem(tool, args);
    if (problem !== undefined) return failure(FAILURE.validation, problem);
    const context = outside.callContext(signal, call);
    if (tool.call !== undefined) return returned(await tool.call(args, context));
    return returned(await collect(tool, call, context, signal));
  } catch (error) {
    reportThrown(log, request.toolName, error);
    return thrownResponse(error);
  }
}

/** Logs errors of a handler, except a `ToolError`, which is its answer. */
function reportThrown(log: Log, tool: string, error: unknown): void {
  if (!(error instanceof ToolError)) log.warn("plugin.tool-failed", { tool, error });
}

async function collect(
  tool: ToolPart,
  { args = {} }: ToolCall,
  context: ReturnType<OrchestratorAccess["callContext"]>,
  signal: AbortSignal,
): Promise<unknown> {
  const pieces = new Pieces();
  for await (const chunk of untilStopped(tool.stream?.(args, context) ?? [], signal)) {
    const { data, contentType } = chunkBytes(chunk);
    pieces.add(data, contentType);
  }
  const result = pieces.result();
  return result.content.length === 0 ? "" : result;
}

/** Answers calls in chunks, for tools that stream. */
export function serveStreams(context: HandlerContext): BusHandlers {
  const { calls, log } = context;
  return streamHandlers((start, call, piece) =>
    calls.run(call, async (signal) => {
      try {
        await sendPieces(context, start, signal, piece);
        return { success: true };
      } catch (error) {
        if (!signal.aborted) reportThrown(log, start.toolName, error);
        const { code, message } = signal.aborted
          ? { code: "cancelled", message: reasonOf(signal).message }
          : thrown(error);
        return { success: false, errorCode: code, errorMessage: message };
      }
    }),
  );
}

async function sendPieces(
  { tools, outside }: HandlerContext,
  start: StreamStart,
  signal: AbortSignal,
  piece: SendPiece,
): Promise<void> {
  const { toolName, arguments: args = {} } = start;
  const tool = tools.get(toolName);
  if (tool?.stream === undefined) {
    throw new ToolError(FAILURE.toolNotFound, `streaming tool "${toolName}" not found`);
  }
  const problem = await argumentProblem(tool, args);
  if (problem !== undefined) throw new ToolError(FAILURE.validation, problem);
  const context = outside.callContext(signal, fromToolRequest(start));
  for await (const chunk of untilStopped(tool.stream(args, context), signal)) {
    const { data, contentType } = chunkBytes(chunk);
    if (data.length > 0) await piece(data, contentType);
  }
}

/** Answers requests for a plugin's prompts. */
export function servePrompts(
  prompts: ReadonlyMap<string, PromptPart>,
  { outside, calls, log }: HandlerContext,
): BusHandlers {
  return {
    listPrompts: () => {
      const list = [...prompts.values()].map(({ definition }) => toBusPrompt(definition));
      return { case: "listPrompts", value: { prompts: list } };
    },
    promptGet: ({ promptName, arguments: args }, call) =>
      calls.run(call, async (signal) => {
        const prompt = prompts.get(promptName);
        if (prompt === undefined) {
          return failed("prompt_not_found", `prompt "${promptName}" not found`);
        }
        const { description = "", arguments: wanted = [] } = prompt.definition;
        const missing = wanted.find(({ name, required }) => required === true && !(name in args));
        if (missing !== undefined)
          return failed(FAILURE.validation, `'${missing.name}' is missing`);
        try {
          const got = await prompt.get(args, outside.context(signal));
          const all = typeof got === "string" ? [{ role: "user", text: got }] : got;
          const messages = all.map(({ role, text }) => ({ role, content: { type: "text", text } }));
          return { case: "promptGet", value: { description, messages } };
        } catch (error) {
          log.warn("plugin.prompt-failed", { prompt: promptName, error });
          return { case: "toolCall", value: thrownResponse(error) };
        }
      }),
  };
}

function failed(code: string, message: string) {
  return { case: "toolCall", value: failure(code, message) } as const;
}

/** Answers requests for the storages that a plugin provides. */
function serveProviders(
  providers: ReadonlyMap<string, StorageProvider>,
  { log }: HandlerContext,
): BusHandlers {
  if (providers.size === 0) return {};
  return serveStorage({
    storageFor: (type) => {
      const provider = providers.get(type);
      if (provider !== undefined) return asStorage(provider);
      const known = [...providers.keys()].join(", ");
      throw new TrunklineError("unavailable", `There is no storage '${type}' here, only: ${known}`);
    },
    report: (event, fields) => log.warn(event, fields),
  });
}

function asStorage(provider: StorageProvider): Storage {
  return {
    read: (path) =>
      withReason(async () => {
        const found = await provider.read(path);
        if (found === undefined) return undefined;
        const { content } = found;
        return { ...found, content: typeof content === "string" ? Buffer.from(content) : content };
      }),
    write: (path, { content, metadata }, expected) => {
      const options = {
        ...(expected === EXPECT_ANYTHING ? {} : { version: expected }),
        ...(metadata === undefined ? {} : { metadata }),
      };
      return withReason(() => provider.write(path, content, options));
    },
    delete: (path) => withReason(() => provider.delete(path)),
    list: (folder, pattern = "") =>
      withReason(async () => [...(await provider.list(folder, pattern))]),
  };
}

/** Sends errors that a provider throws to the caller. */
async function withReason<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TrunklineError) throw error;
    throw new TrunklineError("unavailable", thrown(error).message, { cause: error });
  }
}

/** Calls the handler of an event and waits for it. Throws what the handler throws. */
export type EventDeliverer = (
  event: Pick<Publish | EventDelivery, "topic" | "eventType" | "payload" | "sourcePlugin">,
) => Promise<void>;

export function deliverTo(
  events: ReadonlyMap<string, EventSpec>,
  { outside, calls }: HandlerContext,
): EventDeliverer {
  return ({ topic, eventType, payload = {}, sourcePlugin }) =>
    calls.run({}, async (signal) => {
      const event = { topic, type: eventType, payload, source: sourcePlugin };
      await events.get(topic)?.handle(event, outside.context(signal));
    });
}

/** Answers events that the orchestrator sends as requests. */
export function serveEvents(deliver: EventDeliverer, { log }: HandlerContext): BusHandlers {
  return {
    publish: async (event) => {
      try {
        await deliver(event);
        return undefined;
      } catch (error) {
        log.warn("plugin.event-failed", { topic: event.topic, error });
        return { case: "toolCall", value: thrownResponse(error) };
      }
    },
  };
}

const STATUS: Readonly<Record<HealthStatus, Status>> = {
  healthy: Status.HEALTHY,
  degraded: Status.DEGRADED,
  unhealthy: Status.UNHEALTHY,
};

/** Milliseconds to shut down, if the orchestrator names no time. */
const USUAL_TIMEOUT = 5_000;

/** Answers the orchestrator's requests to boot, report health and shut down. `shutdown` resolves to whether it succeeded. */
export function serveLifecycle(
  parts: PluginParts,
  { outside, calls, log }: Omit<HandlerContext, "tools">,
  shutdown: (timeout: number) => Promise<boolean>,
): BusHandlers {
  const { id } = parts.manifest;
  return {
    register: (manifest) => {
      const accepted = manifest.id === "" || manifest.id === id;
      const rejectReason = accepted ? "" : `this is plugin '${id}', not '${manifest.id}'`;
      return { case: "register", value: { accepted, rejectReason } };
    },
    boot: ({ config }, call) =>
      calls.run(call, async (signal) => {
        try {
          await parts.boot?.(config, outside.context(signal));
          return { case: "boot", value: { ready: true } };
        } catch (error) {
          log.error("plugin.not-booted", { error });
          return { case: "boot", value: { ready: false, error: thrown(error).message } };
        }
      }),
    health: async () => ({ case: "health", value: healthOf(await askHealth(parts)) }),
    shutdown: async ({ timeoutSeconds }) => {
      const timeout = timeoutSeconds > 0 ? timeoutSeconds * 1000 : USUAL_TIMEOUT;
      return { case: "shutdown", value: { clean: await shutdown(timeout) } };
    },
  };
}

async function askHealth(parts: PluginParts): Promise<HealthStatus | Health> {
  try {
    return (await parts.health?.()) ?? "healthy";
  } catch (error) {
    return { status: "unhealthy", message: thrown(error).message };
  }
}

function healthOf(health: HealthStatus | Health) {
  const { status, message, details }: Health =
    typeof health === "string" ? { status: health } : health;
  return {
    status: STATUS[status] ?? Status.UNSPECIFIED,
    message: message ?? (status === "healthy" ? "ok" : ""),
    details: { ...details },
  };
}
