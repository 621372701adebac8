import type { Stop } from "../../../base/stop.ts";
import { FAILURE } from "../../../protocol/bus/failure.ts";
import type { StreamStart } from "../../../protocol/bus/plugin.gen.ts";
import type { BusHandlers } from "../../../protocol/bus/serve.ts";
import { fromToolRequest } from "../../../protocol/bus/shape/tool-shape.ts";
import { type SendPiece, streamHandlers } from "../../serve/stream-handlers.ts";
import { chunkBytes, thrown } from "../returned.ts";
import { problemOf, reportThrown, type ToolService } from "./serve-tools.ts";
import { ToolError } from "../tool-error.ts";
import { untilStopped } from "../until-stopped.ts";

/** Answers in pieces, for those tools of a plugin that can. */
export function serveStreams(service: ToolService): BusHandlers {
  const { calls, log } = service;
  return streamHandlers((start, call, piece) =>
    calls.run(call, async (stopper) => {
      try {
        await send(service, start, stopper, piece);
        return { success: true };
      } catch (error) {
        const { reason } = stopper;
        if (reason === undefined) reportThrown(log, start.toolName, error);
        const { code, message } =
          reason === undefined ? thrown(error) : { code: "cancelled", message: reason.message };
        return { success: false, errorCode: code, errorMessage: message };
      }
    }),
  );
}

async function send(
  { tools, outside }: ToolService,
  start: StreamStart,
  stop: Stop,
  piece: SendPiece,
): Promise<void> {
  const { toolName, arguments: args = {} } = start;
  const tool = tools.get(toolName);
  if (tool?.stream === undefined) {
    throw new ToolError(FAILURE.toolNotFound, `streaming tool "${toolName}" not found`);
  }
  const problem = await problemOf(tool, args);
  if (problem !== undefined) throw new ToolError(FAILURE.validation, problem);
  const context = outside.callContext(stop, fromToolRequest(start));
  for await (const chunk of untilStopped(tool.stream(args, context), stop)) {
    const { data, contentType } = chunkBytes(chunk);
    if (data.length > 0) await piece(data, contentType);
  }
}
