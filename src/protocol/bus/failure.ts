import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";

import { attempt } from "../../base/attempt.ts";
import { diskWords, TrunklineError, originalError } from "../../base/errors.ts";
import { CannotAsk, ToolFault } from "../../tool/tool.ts";
import { toStruct } from "./shape/json-struct.ts";
import type { ToolResponseSchema } from "./plugin.gen.ts";

export type ToolResponseInit = MessageInitShape<typeof ToolResponseSchema>;

/** Orchestra's errors: the codes that its programs know. */
export const FAILURE = {
  toolNotFound: "tool_not_found",
  promptRouting: "prompt_routing_error",
  validation: "validation_error",
  handler: "handler_error",
  unknownRequest: "unknown_request",
} as const;

/** A failed ToolResponse, which answers any kind of request. */
export function failure(code: string, message: string, result?: JsonObject): ToolResponseInit {
  return {
    success: false,
    errorCode: code,
    errorMessage: message,
    ...(result === undefined ? {} : { result }),
  };
}

/**
 * Turns an error into a failure for a plugin. An error of the protocol keeps its number, one of ours its
 * name. Anything else is a bug: the plugin gets only an id, and `report` gets the cause under that id.
 */
export function failureOf(
  thrown: unknown,
  report: (correlationId: string, cause: unknown) => void,
): ToolResponseInit {
  const error = originalError(thrown);
  if (error instanceof ToolFault) return failure(String(error.code), error.message, dataOf(error));
  if (error instanceof CannotAsk) return failure("cannot_ask", error.message);
  if (error instanceof TrunklineError) {
    return failure(error.code === "not-found" ? FAILURE.toolNotFound : error.code, error.message);
  }
  const words = diskWords(error);
  if (words !== undefined) return failure(FAILURE.handler, words);
  const correlationId = crypto.randomUUID();
  report(correlationId, error);
  return failure(FAILURE.handler, `Internal error ${correlationId}`);
}

function dataOf({ data }: ToolFault): JsonObject | undefined {
  if (data === undefined) return undefined;
  // Without the data, the caller still gets its answer.
  return attempt(() => toStruct({ data }, "error"));
}
