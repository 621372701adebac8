import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Log } from "../../../base/log.ts";
import type { Stopper } from "../../../base/stop.ts";
import { FAILURE, failure } from "../../../protocol/bus/failure.ts";
import type { ToolRequest, ToolResponseSchema } from "../../../protocol/bus/plugin.gen.ts";
import type { BusHandlers } from "../../../protocol/bus/serve.ts";
import {
  fromToolRequest,
  toBusTool,
  type ToolCall,
} from "../../../protocol/bus/shape/tool-shape.ts";
import { argumentProblem } from "../../../tool/schema/plain-schema.ts";
import type { Arguments } from "../../../tool/tool.ts";
import { Pieces } from "../../serve/pieces.ts";
import { chunkBytes, returned, thrownResponse } from "../returned.ts";
import type { Outside } from "../outside.ts";
import type { ToolPart } from "../parts.ts";
import type { RunningCalls } from "./running-calls.ts";
import { ToolError } from "../tool-error.ts";
import { untilStopped } from "../until-stopped.ts";

export interface ToolService {
  readonly tools: ReadonlyMap<string, ToolPart>;
  readonly outside: Outside;
  readonly calls: RunningCalls;
  readonly log: Log;
}

/** Answers calls of a plugin's tools. */
export function serveTools(service: ToolService): BusHandlers {
  const { tools, calls } = service;
  return {
    listTools: () => {
      const list = [...tools.values()].map(({ definition }) => toBusTool(definition));
      return { case: "listTools", value: { tools: list } };
    },
    toolCall: (request, call) => {
      const value = calls.run(call, (stopper) => answer(service, request, stopper));
      if (!(value instanceof Promise)) return { case: "toolCall", value };
      return value.then((later) => ({ case: "toolCall", value: later }));
    },
  };
}

type ToolAnswer = MessageInitShape<typeof ToolResponseSchema>;

/** What a tool returns at once is answered at once. */
function answer(
  service: ToolService,
  request: ToolRequest,
  stopper: Stopper,
): ToolAnswer | Promise<ToolAnswer> {
  try {
    const { tools, outside } = service;
    const call = fromToolRequest(request);
    const { name, args = {} } = call;
    const tool = tools.get(name);
    if (tool === undefined) return failure(FAILURE.toolNotFound, `tool "${name}" not found`);
    const problem = problemOf(tool, args);
    if (problem instanceof Promise || tool.call === undefined) {
      return answerLater(service, request, run(tool, call, outside, stopper, problem));
    }
    if (problem !== undefined) return failure(FAILURE.validation, problem);
    const value = tool.call(args, outside.callContext(stopper, call));
    if (!isThenable(value)) return returned(value);
    return answerLater(service, request, Promise.resolve(value).then(returned));
  } catch (error) {
    return threw(service, request, error);
  }
}

async function answerLater(
  service: ToolService,
  request: ToolRequest,
  work: Promise<ToolAnswer>,
): Promise<ToolAnswer> {
  try {
    return await work;
  } catch (error) {
    return threw(service, request, error);
  }
}

async function run(
  tool: ToolPart,
  call: ToolCall,
  outside: Outside,
  stopper: Stopper,
  checking: ReturnType<typeof problemOf>,
): Promise<ToolAnswer> {
  const problem = await checking;
  if (problem !== undefined) return failure(FAILURE.validation, problem);
  const context = outside.callContext(stopper, call);
  if (tool.call !== undefined) return returned(await tool.call(call.args ?? {}, context));
  return returned(await collect(tool, call, context, stopper));
}

function threw({ log }: ToolService, { toolName }: ToolRequest, error: unknown): ToolAnswer {
  reportThrown(log, toolName, error);
  return thrownResponse(error);
}

function isThenable(value: unknown): boolean {
  const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
  return isObject && "then" in value && typeof value.then === "function";
}

/** What a handler threw on purpose is its answer; anything else is worth a look. */
export function reportThrown(log: Log, tool: string, error: unknown): void {
  if (!(error instanceof ToolError)) log.warn("plugin.tool-failed", { tool, error });
}

/** What is wrong with the arguments, by the schema of the tool. */
export function problemOf(
  { definition }: ToolPart,
  args: Arguments,
): ReturnType<typeof argumentProblem> {
  return argumentProblem({ definition }, args);
}

async function collect(
  tool: ToolPart,
  { args = {} }: ToolCall,
  context: ReturnType<Outside["callContext"]>,
  stopper: Stopper,
): Promise<unknown> {
  const pieces = new Pieces();
  for await (const chunk of untilStopped(tool.stream?.(args, context) ?? [], stopper)) {
    const { data, contentType } = chunkBytes(chunk);
    pieces.add(data, contentType);
  }
  const result = pieces.result();
  return result.content.length === 0 ? "" : result;
}
