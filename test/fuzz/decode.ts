import type { FrameFault } from "../../src/wire/channel.ts";
import type { TextFraming } from "../../src/wire/framing/ndjson.ts";

/** What a framing finds in these chunks, in order: messages as texts, the rest as faults. */
export function decode(
  framing: TextFraming,
  limit: number,
  chunks: Iterable<Buffer>,
): (string | FrameFault)[] {
  const found: (string | FrameFault)[] = [];
  const decoder = framing.decoder(limit, {
    text: (text) => found.push(text),
    fault: (fault) => found.push(fault),
  });
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return found;
}

/** Every way to cut the bytes into three chunks or fewer, and into single bytes. */
export function* everyCut(bytes: Buffer): Generator<Buffer[]> {
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      yield [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
    }
  }
  yield Array.from(bytes, (byte) => Buffer.of(byte));
}
