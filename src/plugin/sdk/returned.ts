import { attempt } from "../../base/attempt.ts";
import { isContent } from "../../protocol/bus/shape/content-text.ts";
import { FAILURE, failure, type ToolResponseInit } from "../../protocol/bus/failure.ts";
import { toStruct } from "../../protocol/bus/shape/json-struct.ts";
import { toToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { textResult, type ToolResult } from "../../tool/tool.ts";
import { ToolError } from "./tool-error.ts";

/** Converts what a tool returned to a message of the bus. */
export function returned(value: unknown): ToolResponseInit {
  if (value === undefined || value === null) return toToolResponse(textResult(""));
  if (typeof value === "string") return { success: true, result: { text: value } };
  if (typeof value !== "object") return toToolResponse(textResult(JSON.stringify(value) ?? ""));
  if (isFull(value)) return toToolResponse(value);
  if (Array.isArray(value)) {
    const structuredContent = value as unknown[];
    return toToolResponse({ ...textResult(JSON.stringify(value)), structuredContent });
  }
  // On the bus, `text` is for people, and the rest is structured content.
  return { success: true, result: toStruct(value, "result") };
}

function isFull(value: object): value is ToolResult {
  return "content" in value && isContent(value.content);
}

/** An error with a stable code and a message. */
export function thrown(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof ToolError) return { code: error.code, message: error.message };
  const message = error instanceof Error ? error.message || error.name : String(error);
  return { code: FAILURE.handler, message };
}

/** Converts what a tool threw to a message of the bus. */
export function thrownResponse(error: unknown): ToolResponseInit {
  const { code, message } = thrown(error);
  const details = error instanceof ToolError ? error.details : undefined;
  if (details === undefined) return failure(code, message);
  // Without the details, the caller still gets its answer.
  const struct = attempt(() => toStruct(details, "details"));
  return failure(code, message, struct);
}

const TEXT = "text/plain; charset=utf-8";
const BINARY = "application/octet-stream";

/** Converts what a tool yielded to a message of the bus. */
export function chunkBytes(chunk: unknown): {
  readonly data: Uint8Array;
  readonly contentType: string;
} {
  if (typeof chunk === "string") return { data: Buffer.from(chunk), contentType: TEXT };
  if (chunk instanceof Uint8Array) return { data: chunk, contentType: BINARY };
  const kind = chunk === null ? "null" : typeof chunk;
  throw new TypeError(`The tool yielded a value of type ${kind}. Yield texts or Uint8Arrays`);
}
