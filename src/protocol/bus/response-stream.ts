import { TrunklineError } from "../../base/errors.ts";
import { LengthPrefixedDecoder, MAX_FRAME } from "../../wire/framing/length-prefixed.ts";
import type { BidiStream } from "../../wire/quic/connection.ts";
import { decodeResponse } from "./codec.ts";
import type { PluginResponse } from "./plugin.gen.ts";

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
