import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { SampleContext } from "../../../test/samples/sample-context.ts";
import { LinkedPlugin } from "../../../test/support/linked-plugin.ts";
import { FAILURE, failure } from "../../protocol/bus/failure.ts";
import type { BusHandlers } from "../../protocol/bus/serve.ts";
import { callInPieces } from "./stream-handlers.ts";

async function call(handlers: BusHandlers) {
  await using plugin = new LinkedPlugin(handlers);
  return await callInPieces(plugin, "count", { to: 3 }, new SampleContext());
}

describe("callInPieces()", { timeout: 30_000 }, () => {
  it("keeps what arrived before a failure, after its code and message", async () => {
    const result = await call({
      streamStart: async ({ streamId }, exchange) => {
        await exchange.send({
          case: "streamChunk",
          value: { streamId, data: Buffer.from("1 2 ") },
        });
        const value = { streamId, success: false, errorCode: "lost_count", errorMessage: "at 2" };
        return { case: "streamEnd", value };
      },
    });
    assert.equal(result?.isError, true);
    assert.deepEqual(
      result.content.map(({ text }) => text),
      ["tool error: lost_count", "at 2", "1 2 "],
    );
  });

  it("is undefined if the plugin has no such tool, or does not support streaming", async () => {
    for (const code of [FAILURE.toolNotFound, FAILURE.unknownRequest]) {
      const value = failure(code, "");
      assert.equal(await call({ streamStart: () => ({ case: "toolCall", value }) }), undefined);
    }
    const ended = { success: false, errorCode: FAILURE.toolNotFound };
    const unknown = await call({
      streamStart: ({ streamId }) => ({ case: "streamEnd", value: { streamId, ...ended } }),
    });
    assert.equal(unknown, undefined);
  });

  it("accepts an answer that is not streamed", async () => {
    const value = { success: true, result: { text: "whole" } };
    const result = await call({ streamStart: () => ({ case: "toolCall", value }) });
    assert.deepEqual(result?.content, [{ type: "text", text: "whole" }]);
  });

  it("reports an answer that was cut off", async () => {
    await assert.rejects(call({ streamStart: () => undefined }), {
      code: "unavailable",
      message: "Plugin 'sample' aborted its answer",
    });
  });

  it("cancels on another stream when the caller stops reading", async () => {
    covers("bus.stream.cancel");
    const cancelled = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<string>();
    const context = new SampleContext();
    await using plugin = new LinkedPlugin({
      streamStart: async ({ streamId }) => {
        begun.resolve(streamId);
        await cancelled.promise;
        return undefined;
      },
      streamCancel: ({ streamId }) => {
        cancelled.resolve(streamId);
        return undefined;
      },
    });
    const called = callInPieces(plugin, "count", {}, context);
    const streamId = await begun.promise;
    context.abort.abort(new Error("enough"));
    await assert.rejects(called, /enough/);
    assert.equal(await cancelled.promise, streamId);
  });
});
