import { TrunklineError } from "../../base/errors.ts";
import { LengthPrefixedDecoder, MAX_FRAME } from "../../wire/framing/length-prefixed.ts";
import type { BidiStream } from "../../wire/quic/connection.ts";
import { decodeResponse } from "./codec.ts";
import type { PluginResponse } from "./plugin.gen.ts";

/** Who takes the frames of one stream. */
export interface FrameTaker {
  /** The request. */
  first(body: Buffer): void;
  /** What follows it, such as that its answer is no longer wanted. */
  further(body: Buffer): void;
  /** So many bytes came. Throws where they are too many, and then no more are read. */
  received(bytes: number): void;
}

/**
 * Reads a stream to its end. The request is taken as soon as it is whole, since some clients leave
 * their side open until they have the answer. Rejects if the stream ends before a whole request.
 */
export async function readFrames(stream: BidiStream, taker: FrameTaker): Promise<void> {
  let frames = 0;
  let problem: string | undefined;
  const decoder = new LengthPrefixedDecoder(MAX_FRAME, {
    frame: (body) => {
      if (frames++ > 0) {
        taker.further(body);
        return;
      }
      stream.patient?.();
      taker.first(body);
    },
    oversize: (length) => {
      problem = `it has over ${MAX_FRAME} bytes, namely ${length}`;
    },
    truncated: (missing) => {
      problem = `its last ${missing} bytes are missing`;
    },
  });
  try {
    for await (const chunk of stream.chunks()) {
      taker.received(chunk.length);
      decoder.push(chunk);
      if (problem !== undefined) break;
    }
  } finally {
    decoder.end();
  }
  if (frames > 0) return;
  const why = problem ?? "the stream ended before it";
  throw new TrunklineError("limit", `Cannot read a request: ${why}`);
}

/** The answers on one stream, as they come. */
export async function* readResponses(
  stream: BidiStream,
): AsyncGenerator<PluginResponse, void, void> {
  const frames: Buffer[] = [];
  let problem: string | undefined;
  const decoder = new LengthPrefixedDecoder(MAX_FRAME, {
    frame: (body) => {
      frames.push(body);
    },
    oversize: (length) => {
      problem = `a frame has over ${MAX_FRAME} bytes, namely ${length}`;
    },
    truncated: (missing) => {
      problem = `the last ${missing} bytes are missing`;
    },
  });
  const taken = function* (): Generator<PluginResponse> {
    for (const body of frames.splice(0)) yield decodeResponse(body);
    if (problem !== undefined) {
      throw new TrunklineError("unavailable", `Cannot read an answer: ${problem}`);
    }
  };
  try {
    for await (const chunk of stream.chunks()) {
      decoder.push(chunk);
      yield* taken();
    }
  } finally {
    decoder.end();
  }
  yield* taken();
}
