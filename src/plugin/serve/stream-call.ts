import { TrunklineError } from "../../base/errors.ts";
import { FAILURE } from "../../protocol/bus/failure.ts";
import type { StreamEnd } from "../../protocol/bus/plugin.gen.ts";
import { fromToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { toToolRequest } from "../../protocol/bus/shape/tool-shape.ts";
import { type Arguments, errorResult, type ToolContext, type ToolResult } from "../../tool/tool.ts";
import { isNested, toolCallOf } from "../bus-context.ts";
import { Pieces } from "./pieces.ts";
import type { AskedPlugin } from "../plugin/plugin.ts";

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
  // Plugins do not notice that a stream was broken off: they are told.
  const cancel = { case: "streamCancel", value: { streamId } } as const;
  const asking = { stop: context.stop, cancel, isNested: isNested(context) };
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

/** Programs without tools that answer in pieces do not know the request. */
function isUnknown(code: string): boolean {
  return code === FAILURE.toolNotFound || code === FAILURE.unknownRequest;
}

function ended({ success, errorCode, errorMessage }: StreamEnd, pieces: Pieces): ToolResult {
  if (success) return pieces.result();
  const failure = errorResult(`tool error: ${errorCode || "stream_error"}`);
  const why = errorMessage === "" ? [] : [{ type: "text", text: errorMessage }];
  return { ...failure, content: [...failure.content, ...why, ...pieces.result().content] };
}
