import { isUtf8 } from "node:buffer";
import type { PluginRequest, PluginResponse, ToolRequest, ToolResponse } from "../plugin.gen.ts";
import { Unusual, WireReader } from "./wire-reader.ts";

/**
 * Reads a call of a tool. Undefined for any other request, and for one with something unusual in it,
 * such as a field that is not in our schema: the library reads those, which takes longer.
 */
export function readToolRequest(body: Uint8Array): PluginRequest | undefined {
  return usual(() => {
    const reader = new WireReader(body);
    const requestId = callId(reader, body);
    if (requestId === undefined) return undefined;
    const value = toolRequest(reader, body.length);
    const request = { case: "toolCall", value } as const;
    return { $typeName: "orchestra.plugin.v1.PluginRequest", requestId, request };
  });
}

/** The same for the answer to a call. */
export function readToolResponse(body: Uint8Array): PluginResponse | undefined {
  return usual(() => {
    const reader = new WireReader(body);
    const requestId = callId(reader, body);
    if (requestId === undefined) return undefined;
    const value = toolResponse(reader, body.length);
    const response = { case: "toolCall", value } as const;
    return { $typeName: "orchestra.plugin.v1.PluginResponse", requestId, response };
  });
}

/**
 * Reads the answer to a call where it is one text and nothing else, in the order in which all libraries
 * write it. Undefined for any other. Each part ends with the message, so that nothing of it has to be
 * checked before.
 */
export function readPlainAnswer(body: Buffer, requestId: string): string | undefined {
  const start = afterId(body, requestId);
  if (start === undefined || body[start] !== CALL_20 || body[start + 1] !== CALL_20_REST) {
    return undefined;
  }
  const answer = partAt(body, start + 2);
  if (body[answer] !== FLAG_1 || body[answer + 1] !== 1) return undefined;
  if (body[answer + 2] !== STRUCT_2) return undefined;
  const result = partAt(body, answer + 3);
  if (body[result] !== TEXT_1) return undefined;
  const member = partAt(body, result + 1);
  for (let at = 0; at < TEXT_MEMBER.length; at++) {
    if (body[member + at] !== TEXT_MEMBER[at]) return undefined;
  }
  const value = partAt(body, member + TEXT_MEMBER.length);
  if (body[value] !== TEXT_3) return undefined;
  const text = partAt(body, value + 1);
  if (!(text <= body.length)) return undefined;
  const bytes = body.subarray(text);
  return isUtf8(bytes) ? bytes.toString() : undefined;
}

/** Where the id of an answer ends; undefined where it is that of another request. */
function afterId(body: Buffer, requestId: string): number | undefined {
  if (body[0] !== TEXT_1) return 0;
  const { length } = requestId;
  if (body[1] !== length || length >= 0x80) return undefined;
  for (let at = 0; at < length; at++) {
    if (body[2 + at] !== requestId.charCodeAt(at)) return undefined;
  }
  return 2 + length;
}

/** Where the part begins whose length is there; not a number unless it ends with the message. */
function partAt(body: Buffer, at: number): number {
  let length = 0;
  for (let factor = 1; factor <= 0x20_0000; factor *= 0x80) {
    const byte = body[at++] ?? 0;
    length += (byte & 0x7f) * factor;
    if (byte < 0x80) return at + length === body.length ? at : NaN;
  }
  return NaN;
}

const TEXT_1 = 0x0a;
const STRUCT_2 = 0x12;
const TEXT_3 = 0x1a;
const TEXT_4 = 0x22;
const TEXT_5 = 0x2a;
const TEXT_6 = 0x32;
const TEXT_1000 = 0x1f42;
const FLAG_1 = 0x08;
/** The field of calls and of their answers. */
const CALL_20 = 0xa2;
const CALL_20_REST = 0x01;
/** The key `text` of a member, up to the length of its value. */
const TEXT_MEMBER = Buffer.from("\n\u0004text\u0012");

/** The id of a call, which is the rest of the message; undefined where there is no call. */
function callId(reader: WireReader, body: Uint8Array): string | undefined {
  let tag = reader.varint();
  const id = tag === TEXT_1 ? reader.text() : "";
  if (tag === TEXT_1) tag = reader.varint();
  return tag === CALL_20 && reader.end() === body.length ? id : undefined;
}

function toolRequest(reader: WireReader, end: number): ToolRequest {
  const call: ToolRequest = {
    $typeName: "orchestra.plugin.v1.ToolRequest",
    toolName: "",
    callerPlugin: "",
    traceParent: "",
    provider: "",
    sessionId: "",
    project: "",
  };
  while (reader.at < end) {
    switch (reader.varint()) {
      case TEXT_1:
        call.toolName = reader.text();
        break;
      case STRUCT_2:
        call.arguments = reader.struct();
        break;
      case TEXT_3:
        call.callerPlugin = reader.text();
        break;
      case TEXT_4:
        call.traceParent = reader.text();
        break;
      case TEXT_5:
        call.provider = reader.text();
        break;
      case TEXT_6:
        call.sessionId = reader.text();
        break;
      case TEXT_1000:
        call.project = reader.text();
        break;
      default:
        throw new Unusual();
    }
  }
  return call;
}

function toolResponse(reader: WireReader, end: number): ToolResponse {
  const answer: ToolResponse = {
    $typeName: "orchestra.plugin.v1.ToolResponse",
    success: false,
    errorCode: "",
    errorMessage: "",
  };
  while (reader.at < end) {
    switch (reader.varint()) {
      case FLAG_1:
        answer.success = reader.varint() !== 0;
        break;
      case STRUCT_2:
        answer.result = reader.struct();
        break;
      case TEXT_3:
        answer.errorCode = reader.text();
        break;
      case TEXT_4:
        answer.errorMessage = reader.text();
        break;
      default:
        throw new Unusual();
    }
  }
  return answer;
}

function usual<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unusual) return undefined;
    throw error;
  }
}
