import type { JsonObject } from "@bufbuild/protobuf";

import {
  FAULT_META,
  INVALID_ARGUMENTS,
  type Content,
  textResult,
  type ToolResult,
} from "../../../tool/tool.ts";
import { contentText, isContent } from "./content-text.ts";
import { FAILURE, type ToolResponseInit } from "../failure.ts";
import { structText, toStruct } from "./json-struct.ts";
import type { ToolResponse } from "../plugin.gen.ts";

/** The code of a result that says itself that the tool failed. */
const TOOL_ERROR = "tool_error";

/** Members that have a meaning on the bus: structured content with one of them is wrapped. */
const RESERVED = ["text", "content", "structuredContent"];

/**
 * A plugin's answer in the doors' form. Orchestra transport.stdio § tools/call: the `text` of the result,
 * else the whole result as JSON. Members beside the text are structured content.
 */
export function fromToolResponse(response: ToolResponse): ToolResult {
  if (!response.success) return fromFailure(response);
  const { result } = response;
  if (result === undefined) return textResult("");
  if (typeof result.text === "string") return fromText(result.text, result);
  const isEmpty = Object.keys(result).length === 0;
  const answer = textResult(structText(result));
  return isEmpty ? answer : { ...answer, structuredContent: result };
}

function fromText(text: string, result: JsonObject): ToolResult {
  const { text: _, content, ...rest } = result;
  // If `content` renders to the same text, it is the full result, of an MCP tool.
  const isFull = isContent(content) && contentText(content) === text;
  const answer = isFull ? { content } : textResult(text);
  const beside = isFull || content === undefined ? rest : { content, ...rest };
  const names = Object.keys(beside);
  if (names.length === 0) return answer;
  const isWrapped = names.length === 1 && beside.structuredContent !== undefined;
  return { ...answer, structuredContent: isWrapped ? beside.structuredContent : beside };
}

/** Orchestra transport.stdio § tools/call: `tool error: CODE`. The message and the result follow. */
function fromFailure({ errorCode, errorMessage, result }: ToolResponse): ToolResult {
  const head = errorCode === "" ? "tool error" : `tool error: ${errorCode}`;
  const texts = errorMessage === "" ? [head] : [head, errorMessage];
  const content = texts.map((text) => ({ type: "text", text }));
  const hasMore = result !== undefined && Object.keys(result).length > 0;
  return { content, isError: true, ...(hasMore ? { structuredContent: result } : {}) };
}

/** The result of one of the program's tools, in the form for plugins. */
export function toToolResponse(result: ToolResult): ToolResponseInit {
  const { content, structuredContent, _meta } = result;
  if (result.isError !== true) return { success: true, result: resultStruct(result) };
  const passedOn = failureOfPlugin(content);
  if (passedOn !== undefined) {
    const more = structuredContent === undefined ? {} : { result: structureOf(structuredContent) };
    return { success: false, ...passedOn, ...more };
  }
  const hasMore = structuredContent !== undefined || !isPlain(content);
  return {
    success: false,
    errorCode: _meta?.[FAULT_META] === INVALID_ARGUMENTS ? FAILURE.validation : TOOL_ERROR,
    errorMessage: contentText(content),
    ...(hasMore ? { result: resultStruct(result) } : {}),
  };
}

/** The failure of another plugin keeps its code on the way through. */
function failureOfPlugin(content: readonly Content[]) {
  const [head, ...rest] = content;
  const errorCode = typeof head?.text === "string" ? FAILURE_HEAD.exec(head.text)?.[1] : undefined;
  return errorCode === undefined ? undefined : { errorCode, errorMessage: contentText(rest) };
}

const FAILURE_HEAD = /^tool error: (\S{1,200})$/;

function structureOf(structure: unknown): JsonObject {
  return toStruct(canMerge(structure) ? structure : { structuredContent: structure }, "result");
}

function resultStruct({ content, structuredContent }: ToolResult): JsonObject {
  const own = { text: contentText(content), ...(isPlain(content) ? {} : { content }) };
  if (structuredContent === undefined) return toStruct(own, "result");
  if (!canMerge(structuredContent)) return toStruct({ ...own, structuredContent }, "result");
  // Without content, readers render the structure as text.
  return toStruct(
    content.length === 0 ? structuredContent : { ...structuredContent, ...own },
    "result",
  );
}

function canMerge(structure: unknown): structure is Record<string, unknown> {
  if (typeof structure !== "object" || structure === null || Array.isArray(structure)) return false;
  return !RESERVED.some((name) => Object.hasOwn(structure, name));
}

/** Whether the content is exactly one text without annotations. */
function isPlain(content: readonly Content[]): boolean {
  if (content.length === 0) return true;
  const [first] = content;
  return content.length === 1 && first?.type === "text" && Object.keys(first).length === 2;
}
