import type { BusCall, BusHandlers } from "../protocol/bus/serve.ts";
import { toToolResponse } from "../protocol/bus/tool-result.ts";
import type { ToolCall } from "../protocol/bus/tool-shape.ts";
import { Stopper } from "../base/stop.ts";
import type { ToolContext, ToolResult } from "../tool/tool.ts";

type CallTool = (
  toolCall: ToolCall,
  call: BusCall,
  piece: NonNullable<ToolContext["piece"]>,
) => Promise<ToolResult>;

const BINARY = "application/octet-stream";

/** Tools that answer in pieces; any other tool answers in one. */
export function serveStreams(callTool: CallTool): BusHandlers {
  /** What runs, by who began it and what it called it. */
  const running = new Map<string, Stopper>();
  const keyOf = ({ connection }: BusCall, streamId: string): string =>
    `${connection.peer?.fingerprint ?? ""}\n${streamId}`;
  return {
    streamStart: async ({ streamId, toolName, arguments: args, callerPlugin }, call) => {
      const key = keyOf(call, streamId);
      const stopper = new Stopper();
      const passOn = { stopped: (reason: Error) => stopper.stop(reason) };
      call.stop.add(passOn);
      running.set(key, stopper);
      let sequence = 0n;
      const piece = (data: Uint8Array, contentType: string): Promise<void> =>
        call.send({
          case: "streamChunk",
          value: { streamId, data, contentType: contentType || BINARY, sequence: sequence++ },
        });
      try {
        const toolCall = { name: toolName, args: args ?? {}, caller: callerPlugin };
        const { connection } = call;
        const send: BusCall["send"] = (answer) => call.send(answer);
        const result = await callTool(toolCall, { connection, stop: stopper, send }, piece);
        return await ended(streamId, result, piece, () => sequence);
      } finally {
        running.delete(key);
        call.stop.remove(passOn);
      }
    },
    streamCancel: ({ streamId }, call) => {
      running.get(keyOf(call, streamId))?.stop(new Error("The caller cancelled the stream"));
      return undefined;
    },
  };
}

async function ended(
  streamId: string,
  result: ToolResult,
  piece: NonNullable<ToolContext["piece"]>,
  total: () => bigint,
) {
  const { success = false, errorCode = "", errorMessage = "" } = toToolResponse(result);
  // One that does not know of pieces has said nothing yet.
  if (success && total() === 0n && result.content.length > 0) await pieceOf(result, piece);
  const value = { streamId, success, errorCode, errorMessage, totalChunks: total() };
  return { case: "streamEnd", value } as const;
}

async function pieceOf(
  result: ToolResult,
  piece: NonNullable<ToolContext["piece"]>,
): Promise<void> {
  const [only, another] = result.content;
  const isText = another === undefined && only?.type === "text" && typeof only.text === "string";
  const text = isText ? (only.text as string) : JSON.stringify(result);
  await piece(Buffer.from(text), isText ? "text/plain" : "application/json");
}
