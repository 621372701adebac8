import type { BusCall, BusHandlers } from "../../protocol/bus/serve.ts";
import { toToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import type { ToolCall } from "../../protocol/bus/shape/tool-shape.ts";
import type { ToolResult } from "../../tool/tool.ts";
import { type SendPiece, streamHandlers } from "./stream-handlers.ts";

type CallTool = (toolCall: ToolCall, call: BusCall, piece: SendPiece) => Promise<ToolResult>;

const BINARY = "application/octet-stream";

/** Tools that answer in pieces; any other tool answers in one. */
export function serveStreams(callTool: CallTool): BusHandlers {
  return streamHandlers(async (start, call, send) => {
    const { toolName: name, arguments: args = {}, callerPlugin: caller, project } = start;
    let hasSpoken = false;
    const piece: SendPiece = (data, contentType) => {
      hasSpoken = true;
      return send(data, contentType || BINARY);
    };
    const result = await callTool({ name, args, caller, project }, call, piece);
    const { success = false, errorCode = "", errorMessage = "" } = toToolResponse(result);
    // One that does not know of pieces has said nothing yet.
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
