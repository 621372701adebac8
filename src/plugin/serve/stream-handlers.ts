import { abortSignalOf } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import { FAILURE } from "../../protocol/bus/failure.ts";
import type { StreamEnd, StreamStart } from "../../protocol/bus/plugin.gen.ts";
import type { BusCall, BusHandlers } from "../../protocol/bus/serve.ts";
import { fromToolResponse, toToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import {
  fromToolRequest,
  toToolRequest,
  type ToolCall,
} from "../../protocol/bus/shape/tool-shape.ts";
import { errorResult, type Arguments, type ToolContext, type ToolResult } from "../../tool/tool.ts";
import { isNested, toolCallOf } from "../bus-context.ts";
import type { AskedPlugin } from "../plugin/plugin.ts";
import { Pieces } from "./pieces.ts";

/** Sends one piece of the answer; resolves when there is room for more. */
export type SendPiece = (data: Uint8Array, contentType: string) => Promise<void>;

/** How a stream ended. */
export interface StreamOutcome {
  readonly success: boolean;
  readonly errorCode?: string;
  readonly errorMessage?: string;
}

type Run = (start: StreamStart, call: BusCall, piece: SendPiece) => Promise<StreamOutcome>;

/** A larger piece is sent as several: a frame is bounded. */
const MOST_BYTES = 1024 * 1024;

/** Answers that come in pieces. Their caller may cancel on the same stream or on another. */
export function streamHandlers(run: Run): BusHandlers {
  /** Running streams, by the certificate of the caller and the id of the stream. */
  const running = new Map<string, AbortController>();
  const keyOf = ({ connection }: BusCall, streamId: string): string =>
    `${connection.peer?.fingerprint ?? ""}\n${streamId}`;
  return {
    streamStart: async (start, call) => {
      const { streamId } = start;
      const key = keyOf(call, streamId);
      let totalChunks = 0n;
      const ended = ({ success, errorCode = "", errorMessage = "" }: StreamOutcome) => {
        const value = { streamId, success, errorCode, errorMessage, totalChunks };
        return { case: "streamEnd", value } as const;
      };
      if (running.has(key)) {
        const errorMessage = `a stream '${streamId}' is running`;
        return ended({ success: false, errorCode: "stream_exists", errorMessage });
      }
      const piece: SendPiece = async (data, contentType) => {
        for (let at = 0; at === 0 || at < data.length; at += MOST_BYTES) {
          const part = data.subarray(at, at + MOST_BYTES);
          const value = { streamId, data: part, contentType, sequence: totalChunks++ };
          await call.send({ case: "streamChunk", value });
        }
      };
      const controller = new AbortController();
      const signal = AbortSignal.any([call.signal, controller.signal]);
      const { connection, bytes } = call;
      const send: BusCall["send"] = (answer) => call.send(answer);
      running.set(key, controller);
      using ends = new DisposableStack();
      ends.defer(() => running.delete(key));
      return ended(await run(start, { connection, signal, bytes, send }, piece));
    },
    streamCancel: ({ streamId }, call) => {
      running.get(keyOf(call, streamId))?.abort(new Error("The caller cancelled the stream"));
      return undefined;
    },
  };
}

type CallTool = (toolCall: ToolCall, call: BusCall, piece: SendPiece) => Promise<ToolResult>;

const BINARY = "application/octet-stream";

/** Tools that answer in pieces; any other tool answers in one. */
export function serveStreams(callTool: CallTool): BusHandlers {
  return streamHandlers(async (start, call, send) => {
    let hasSpoken = false;
    const piece: SendPiece = (data, contentType) => {
      hasSpoken = true;
      return send(data, contentType || BINARY);
    };
    const result = await callTool(fromToolRequest(start), call, piece);
    const { success = false, errorCode = "", errorMessage = "" } = toToolResponse(result);
    // A tool that does not stream has sent nothing yet.
    if (success && !hasSpoken && result.content.length > 0) await pieceOf(result, piece);
    return { success, errorCode, errorMessage };
  });
}

async function pieceOf(result: ToolResult, piece: SendPiece): Promise<void> {
  const [only, another] = result.content;
  const isText = another === undefined && only?.type === "text" && typeof only.text === "string";
  const text = isText ? (only.text as string) : JSON.stringify(result);
  await piece(Buffer.from(text), isText ? "text/plain" : "application/json");
}

/**
 * Calls a plugin's tool that answers in pieces. They go to whoever wants them as they come, else they
 * are put together. Undefined where the plugin has no such tool that answers so.
 */
export async function callInPieces(
  plugin: AskedPlugin,
  name: string,
  args: Arguments,
  context: ToolContext,
): Promise<ToolResult | undefined> {
  const link = await plugin.link();
  const streamId = crypto.randomUUID();
  const value = { streamId, ...toToolRequest(toolCallOf(name, args, context)) };
  // Plugins do not notice the reset of a stream, so they are sent a cancellation.
  const cancel = { case: "streamCancel", value: { streamId } } as const;
  const asking = { signal: abortSignalOf(context.signal), cancel, isNested: isNested(context) };
  const pieces = new Pieces();
  const answers = link.askForMany({ case: "streamStart", value }, asking);
  for await (const { response } of answers) {
    if (response.case === "streamChunk") {
      const { data, contentType } = response.value;
      if (context.piece === undefined) pieces.add(data, contentType);
      else await context.piece(data, contentType);
    } else if (response.case === "streamEnd") {
      return isUnknown(response.value.errorCode) ? undefined : ended(response.value, pieces);
    } else if (response.case === "toolCall") {
      return isUnknown(response.value.errorCode) ? undefined : fromToolResponse(response.value);
    }
  }
  throw new TrunklineError("unavailable", `Plugin '${plugin.id}' aborted its answer`);
}

/** Programs without streaming tools do not know the request. */
function isUnknown(code: string): boolean {
  return code === FAILURE.toolNotFound || code === FAILURE.unknownRequest;
}

function ended({ success, errorCode, errorMessage }: StreamEnd, pieces: Pieces): ToolResult {
  if (success) return pieces.result();
  const failure = errorResult(`tool error: ${errorCode || "stream_error"}`);
  const why = errorMessage === "" ? [] : [{ type: "text", text: errorMessage }];
  return { ...failure, content: [...failure.content, ...why, ...pieces.result().content] };
}
