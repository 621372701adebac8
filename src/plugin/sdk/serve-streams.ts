import type { Stopper } from "../../base/stop.ts";
import { FAILURE } from "../../protocol/bus/failure.ts";
import type { StreamStart } from "../../protocol/bus/plugin.gen.ts";
import type { Answer, BusCall, BusHandlers } from "../../protocol/bus/serve.ts";
import { chunkBytes } from "./chunk-bytes.ts";
import { thrown } from "./returned.ts";
import { problemOf, reportThrown, type ToolService, VALIDATION_ERROR } from "./serve-tools.ts";
import { ToolError } from "./tool-error.ts";
import { untilStopped } from "./until-stopped.ts";

/** A larger chunk is sent as several: a frame is bounded. */
const MOST_BYTES = 1024 * 1024;

/** Answers in pieces, for those tools of a plugin that can. */
export function serveStreams(service: ToolService): BusHandlers {
  const { calls, log } = service;
  /** By the id that the caller made up. It may cancel on another connection. */
  const running = new Map<string, Stopper>();
  return {
    streamStart: (start, call) =>
      calls.run(call, async (stopper) => {
        const { streamId, toolName } = start;
        const sent = { chunks: 0n };
        if (running.has(streamId)) {
          return streamEnd(streamId, sent.chunks, {
            code: "stream_exists",
            message: `a stream '${streamId}' is running`,
          });
        }
        running.set(streamId, stopper);
        try {
          await send(service, start, { call, stopper, sent });
          return streamEnd(streamId, sent.chunks);
        } catch (error) {
          const cancelled = stopper.reason;
          if (cancelled === undefined) reportThrown(log, toolName, error);
          const why =
            cancelled === undefined
              ? thrown(error)
              : { code: "cancelled", message: cancelled.message };
          return streamEnd(streamId, sent.chunks, why);
        } finally {
          running.delete(streamId);
        }
      }),
    streamCancel: ({ streamId }) => {
      running.get(streamId)?.stop(new Error("The caller cancelled the stream"));
      return undefined;
    },
  };
}

interface Sending {
  readonly call: BusCall;
  readonly stopper: Stopper;
  readonly sent: { chunks: bigint };
}

async function send(
  { tools, outside }: ToolService,
  { streamId, toolName, arguments: args = {}, callerPlugin }: StreamStart,
  { call, stopper, sent }: Sending,
): Promise<void> {
  const tool = tools.get(toolName);
  if (tool?.stream === undefined) {
    throw new ToolError(FAILURE.toolNotFound, `streaming tool "${toolName}" not found`);
  }
  const problem = await problemOf(tool, args);
  if (problem !== undefined) throw new ToolError(VALIDATION_ERROR, problem);
  const context = outside.callContext(stopper, { name: toolName, caller: callerPlugin });
  for await (const chunk of untilStopped(tool.stream(args, context), stopper)) {
    const { data, contentType } = chunkBytes(chunk);
    for (let at = 0; at < data.length; at += MOST_BYTES) {
      const part = data.subarray(at, at + MOST_BYTES);
      const sequence = sent.chunks++;
      await call.send({
        case: "streamChunk",
        value: { streamId, data: part, contentType, sequence },
      });
    }
  }
}

function streamEnd(
  streamId: string,
  totalChunks: bigint,
  why?: { readonly code: string; readonly message: string },
): Answer {
  const ended = { errorCode: why?.code ?? "", errorMessage: why?.message ?? "" };
  return {
    case: "streamEnd",
    value: { streamId, success: why === undefined, totalChunks, ...ended },
  };
}
