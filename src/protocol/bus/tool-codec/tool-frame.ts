import type { MessageInitShape } from "@bufbuild/protobuf";
import { PREFIX } from "../../../wire/framing/length-prefixed.ts";
import type { PluginRequestSchema, PluginResponseSchema } from "../plugin.gen.ts";
import { WireWriter } from "./wire-writer.ts";

type RequestInit = MessageInitShape<typeof PluginRequestSchema>;
type ResponseInit = MessageInitShape<typeof PluginResponseSchema>;

const writer = new WireWriter();

/**
 * The frame of a call of a tool, without its length; undefined for other requests. Nearly all
 * messages of a bus are calls and their answers, and the library takes six times as long for them.
 */
export function toolRequestFrame(init: RequestInit): Buffer | undefined {
  const { request } = init;
  if (request?.case !== "toolCall" || hasUnknown(init) || hasUnknown(request.value)) {
    return undefined;
  }
  const call = request.value;
  return written(() => {
    writer.text(1000, call.project);
    writer.text(6, call.sessionId);
    writer.text(5, call.provider);
    writer.text(4, call.traceParent);
    writer.text(3, call.callerPlugin);
    writer.struct(2, call.arguments);
    writer.text(1, call.toolName);
    writer.close(20, 0);
    writer.text(1, init.requestId);
  });
}

/** The same for the answer to a call. */
export function toolResponseFrame(init: ResponseInit): Buffer | undefined {
  const { response } = init;
  if (response?.case !== "toolCall" || hasUnknown(init) || hasUnknown(response.value)) {
    return undefined;
  }
  const answer = response.value;
  return written(() => {
    writer.text(4, answer.errorMessage);
    writer.text(3, answer.errorCode);
    writer.struct(2, answer.result);
    writer.flag(1, answer.success);
    writer.close(20, 0);
    writer.text(1, init.requestId);
  });
}

/** Fields that are not in our schema are the library's to pass on. */
function hasUnknown(message: object): boolean {
  return "$unknown" in message && message.$unknown !== undefined;
}

function written(write: () => void): Buffer {
  try {
    write();
    return writer.finish(PREFIX);
  } finally {
    writer.reset();
  }
}
