import * as protobuf from "@bufbuild/protobuf";
import { TrunklineError } from "../../base/errors.ts";
import { encodeFrame, MAX_FRAME, PREFIX } from "../../wire/framing/length-prefixed.ts";
import type { PrefixCheck } from "../../wire/quic/connection.ts";
import * as wire from "./plugin.gen.ts";
import { checkWire, MAX_DEPTH, WireLimitError } from "./wire-check.ts";
import { configureTextEncoding } from "@bufbuild/protobuf/wire";

export type RequestInit = protobuf.MessageInitShape<typeof wire.PluginRequestSchema>;
export type ResponseInit = protobuf.MessageInitShape<typeof wire.PluginResponseSchema>;

/**
 * A level of JSON is two messages, and three are around it. `checkWire` has counted the levels already;
 * this only raises the reader's own limit.
 */
const RECURSION = { recursionLimit: 2 * MAX_DEPTH + 8 };

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

keepMarks();

/** The frame of a request. Numbers of 64 bits, such as versions, are bigints in every message. */
export function encodeRequest(request: RequestInit): Buffer {
  return encode(wire.PluginRequestSchema, request);
}

export function encodeResponse(response: ResponseInit): Buffer {
  return encode(wire.PluginResponseSchema, response);
}

/** Called with the number of parts of a message before it is parsed. Throws to refuse the message. */
export type PartsCheck = (parts: number) => void;

/**
 * Reads the body of a frame. A kind of request that our schema does not have is a request whose `case`
 * is undefined: it has an id, so it can be answered. Unknown fields are kept.
 */
export function decodeRequest(body: Uint8Array, weigh?: PartsCheck): wire.PluginRequest {
  return decode(wire.PluginRequestSchema, body, weigh);
}

export function decodeResponse(body: Uint8Array): wire.PluginResponse {
  return decode(wire.PluginResponseSchema, body);
}

/** Refuses a frame as soon as its prefix announces too many bytes. */
export const REFUSE_LONG_FRAME: PrefixCheck = {
  length: PREFIX,
  problem(begin) {
    const length = begin.readUInt32BE();
    return length > MAX_FRAME ? tooLong("read", "frame", length).message : undefined;
  },
};

/** The body of the one frame that a whole stream holds. */
export function bodyOf(stream: Uint8Array): Uint8Array {
  if (stream.length < PREFIX) {
    throw unreadable(`only ${stream.length} of the ${PREFIX} bytes of its length came`);
  }
  const { buffer, byteOffset, byteLength } = stream;
  const length = new DataView(buffer, byteOffset, byteLength).getUint32(0);
  if (length > MAX_FRAME) throw tooLong("read", "frame", length);
  const got = stream.length - PREFIX;
  if (got < length) throw unreadable(`only ${got} of its ${length} bytes came`);
  if (got > length) throw unreadable(`${got - length} bytes follow it`);
  return stream.subarray(PREFIX);
}

function encode<D extends protobuf.DescMessage>(
  schema: D,
  init: protobuf.MessageInitShape<D>,
): Buffer {
  try {
    const body = protobuf.toBinary(schema, protobuf.create(schema, init));
    if (body.length > MAX_FRAME) throw tooLong("send", schema.name, body.length);
    // A message that we would refuse to read is not sent either.
    checkWire(schema, body);
    return encodeFrame(body);
  } catch (error) {
    if (error instanceof TrunklineError) throw error;
    const { message } = error as Error;
    const code = error instanceof WireLimitError ? "limit" : "usage";
    throw new TrunklineError(code, `Cannot send a ${schema.name}: ${message}`, { cause: error });
  }
}

function decode<D extends protobuf.DescMessage>(
  schema: D,
  body: Uint8Array,
  weigh?: PartsCheck,
): protobuf.MessageShape<D> {
  if (body.length > MAX_FRAME) throw tooLong("read", schema.name, body.length);
  try {
    const parts = checkWire(schema, body);
    weigh?.(parts);
    return protobuf.fromBinary(schema, body, RECURSION);
  } catch (error) {
    if (error instanceof TrunklineError) throw error;
    const { message } = error as Error;
    const code = error instanceof WireLimitError ? "limit" : "unavailable";
    throw new TrunklineError(code, `Cannot read a ${schema.name}: ${message}`, { cause: error });
  }
}

function tooLong(verb: string, what: string, length: number): TrunklineError {
  const says = `it has ${length} bytes, the limit is ${MAX_FRAME}`;
  return new TrunklineError("limit", `Cannot ${verb} a ${what}: ${says}`);
}

function unreadable(why: string): TrunklineError {
  return new TrunklineError("unavailable", `Cannot read a frame: ${why}`);
}

/**
 * Makes the library keep a byte order mark at the beginning of a text. By itself it drops the mark,
 * and a text would not arrive as it was sent.
 */
function keepMarks(): void {
  // The other way that is offered, to replace the global TextDecoder, would change the program.
  // oxlint-disable-next-line typescript/no-deprecated
  configureTextEncoding({
    encodeUtf8: (text) => encoder.encode(text),
    encodeUtf8Into: (text, bytes) => encoder.encodeInto(text, bytes),
    decodeUtf8: (bytes) => decoder.decode(bytes),
    checkUtf8: (text) => text.isWellFormed(),
  });
}
