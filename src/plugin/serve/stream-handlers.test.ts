import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";

import { onAbort } from "../../base/abort.ts";
import { covers } from "../../../test/support/requirement.ts";
import { StreamCancelSchema, StreamStartSchema } from "../../protocol/bus/plugin.gen.ts";
import type { Answer, BusCall } from "../../protocol/bus/serve.ts";
import type { Connection } from "../../wire/quic/connection.ts";
import { streamHandlers } from "./stream-handlers.ts";

const start = (streamId: string) => create(StreamStartSchema, { streamId });

/** A call by whoever has that certificate. */
function callBy(
  fingerprint: string,
  signal = new AbortController().signal,
): BusCall & { readonly sent: Answer[] } {
  const sent: Answer[] = [];
  const connection = { peer: { fingerprint } } as Connection;
  const send = async (answer: Answer): Promise<void> => void sent.push(answer);
  return { connection, signal, bytes: 0, send, sent };
}

/** Streams that run until they are stopped. */
const { streamStart, streamCancel } = streamHandlers(async (_start, call) => {
  const { promise, resolve } = Promise.withResolvers<Error>();
  onAbort(call.signal, resolve);
  return { success: false, errorCode: "cancelled", errorMessage: (await promise).message };
});

function codeOf(answer: Answer): string | undefined {
  return answer?.case === "streamEnd" ? answer.value.errorCode : undefined;
}

describe("streamed answers", () => {
  it("have an id that is unique for their caller while they run", async () => {
    const cancel = create(StreamCancelSchema, { streamId: "one" });
    const first = streamStart?.(start("one"), callBy("a"));
    assert.equal(codeOf(await streamStart?.(start("one"), callBy("a"))), "stream_exists");
    const other = streamStart?.(start("one"), callBy("b"));
    await streamCancel?.(cancel, callBy("b"));
    assert.equal(codeOf(await other), "cancelled");
    await new Promise(setImmediate);
    const ended = await Promise.race([first, Promise.resolve(undefined)]);
    assert.equal(ended, undefined, "somebody else's cancel ended it");
    await streamCancel?.(cancel, callBy("a"));
    assert.equal(codeOf(await first), "cancelled");
  });

  it("end with their caller, and release their id", async () => {
    for (let round = 0; round < 2; round++) {
      const caller = new AbortController();
      const running = streamStart?.(start("one"), callBy("a", caller.signal));
      caller.abort(new Error("gone"));
      assert.equal(codeOf(await running), "cancelled");
    }
  });

  it("are sent in numbered frames that fit", async () => {
    covers("bus.stream.chunks");
    const data = Buffer.alloc(2.5 * 1024 * 1024, "x");
    const handlers = streamHandlers(async (_start, _call, piece) => {
      await piece(data, "text/plain");
      await piece(new Uint8Array(), "text/plain");
      return { success: true };
    });
    const call = callBy("a");
    const end = await handlers.streamStart?.(start("one"), call);
    const pieces = call.sent.flatMap((answer) =>
      answer?.case === "streamChunk" ? [answer.value] : [],
    );
    assert.deepEqual(
      pieces.map(({ sequence }) => sequence),
      [0n, 1n, 2n, 3n],
    );
    assert.ok(Buffer.concat(pieces.map((one) => one.data as Uint8Array)).equals(data));
    assert.ok(pieces.every((one) => (one.data as Uint8Array).length <= 1024 * 1024));
    assert.ok(end?.case === "streamEnd" && end.value.totalChunks === 4n);
  });
});
