import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin } from "../define-plugin.ts";
import { testPlugin } from "../test/test-plugin.ts";

const about = { id: "sample", version: "1.0.0" };

describe("a streaming tool", () => {
  const counting = definePlugin({
    ...about,
    tools: {
      count: {
        description: "",
        input: { type: "object", properties: { to: { type: "integer" } }, required: ["to"] },
        async *stream({ to }) {
          for (let number = 1; number <= to; number++) yield `${number};`;
          yield new Uint8Array([33]);
        },
      },
    },
  });

  it("sends its pieces one by one", async () => {
    await using harness = await testPlugin(counting);
    const chunks = await Array.fromAsync(harness.stream("count", { to: 3 }));
    assert.deepEqual(
      chunks.map(String),
      ["1;", "2;", "3;", "!"].map((t) => String(Buffer.from(t))),
    );
  });

  it("answers as a whole if it is called without streaming", async () => {
    await using harness = await testPlugin(counting);
    assert.equal((await harness.call("count", { to: 3 })).text, "1;2;3;!");
  });

  it("is not started with wrong arguments", async () => {
    await using harness = await testPlugin(counting);
    const refused = { code: "validation_error", message: /'to' is missing/ };
    await assert.rejects(Array.fromAsync(harness.stream("count", {})), refused);
    await assert.rejects(harness.call("count", {}), refused);
  });

  it("ends and cleans up when the reader stops", async () => {
    const ended = Promise.withResolvers<string>();
    const plugin = definePlugin({
      ...about,
      tools: {
        forever: {
          description: "",
          async *stream(_args, { signal }) {
            try {
              for (;;) yield "more";
            } finally {
              ended.resolve(`aborted: ${signal.aborted}`);
            }
          },
        },
      },
    });
    await using harness = await testPlugin(plugin);
    for await (const _ of harness.stream("forever")) break;
    assert.equal(await ended.promise, "aborted: true");
  });

  it("ends even if it waits for something that never comes", async () => {
    const aborted = Promise.withResolvers<void>();
    const plugin = definePlugin({
      ...about,
      tools: {
        stuck: {
          description: "",
          async *stream(_args, { signal }) {
            signal.addEventListener("abort", () => aborted.resolve());
            yield "first";
            await new Promise(() => {});
          },
        },
      },
    });
    await using harness = await testPlugin(plugin);
    for await (const _ of harness.stream("stuck")) break;
    await aborted.promise;
  });

  it("reports what it threw, after what it sent", async () => {
    const plugin = definePlugin({
      ...about,
      tools: {
        fails: {
          description: "",
          async *stream() {
            yield "one";
            throw new Error("the disk is gone");
          },
        },
      },
    });
    await using harness = await testPlugin(plugin);
    const got: string[] = [];
    await assert.rejects(
      async () => {
        for await (const chunk of harness.stream("fails")) got.push(Buffer.from(chunk).toString());
      },
      { code: "handler_error", message: "the disk is gone" },
    );
    assert.deepEqual(got, ["one"]);
  });

  it("reports that it yielded something that cannot be sent", async () => {
    const stream = (): Iterable<string> => [5 as unknown as string];
    const plugin = definePlugin({ ...about, tools: { odd: { description: "", stream } } });
    await using harness = await testPlugin(plugin);
    const refused = { code: "handler_error", message: /value of type number/ };
    await assert.rejects(Array.fromAsync(harness.stream("odd")), refused);
    await assert.rejects(harness.call("odd"), refused);
  });

  it("sends more than fits into a frame", async () => {
    const size = 20 * 1024 * 1024;
    const stream = (): Iterable<Uint8Array> => [new Uint8Array(size)];
    const plugin = definePlugin({ ...about, tools: { big: { description: "", stream } } });
    await using harness = await testPlugin(plugin);
    let got = 0;
    for await (const chunk of harness.stream("big")) got += chunk.length;
    assert.equal(got, size);
    await assert.rejects(harness.call("big"), { message: /longer than 16777216 bytes/ });
  });

  it("is refused for a tool that does not stream", async () => {
    const tools = { tool: { description: "", call: () => "whole" } };
    await using harness = await testPlugin(definePlugin({ ...about, tools }));
    await assert.rejects(Array.fromAsync(harness.stream("tool")), { code: "tool_not_found" });
  });
});
