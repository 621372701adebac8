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
