import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Conversation } from "./compact.ts";

const CALLS = [
  { id: "1", name: "read_file", args: {} },
  { id: "2", name: "run_command", args: {} },
];

describe("Conversation", () => {
  it("has a result for every call, also cancelled ones, because providers require it", () => {
    const conversation = new Conversation();
    conversation.addAnswers(CALLS, new Map([["1", { text: "content" }]]));
    const [message] = conversation.messages;
    assert.ok(message?.role === "tool");
    assert.deepEqual(
      message.content.map((part) => part.type === "tool-result" && part.output),
      [
        { type: "text", value: "content" },
        { type: "error-text", value: "(Cancelled.)" },
      ],
    );
    conversation.addAnswers([], new Map());
    assert.equal(conversation.messages.length, 1);
  });

  it("gives the model images and errors as such, and never an empty result", () => {
    const conversation = new Conversation();
    const images = [{ data: "AA==", mimeType: "image/png" }];
    conversation.addAnswers(
      CALLS,
      new Map([
        ["1", { text: "", images }],
        ["2", { text: "", isError: true }],
      ]),
    );
    const [message, shown] = conversation.messages;
    assert.ok(message?.role === "tool");
    const [image, failed] = message.content.map(
      (part) => part.type === "tool-result" && part.output,
    );
    assert.deepEqual(image, { type: "text", value: "(Nothing.)" });
    assert.match(JSON.stringify(shown), /"role":"user".*image\/png/);
    assert.deepEqual(failed, { type: "error-text", value: "(Nothing.)" });
  });

  it("prices what the provider reads from its cache and writes to it", () => {
    const usage = {
      inputTokens: 1_000_000,
      outputTokens: 100_000,
      cachedReadTokens: 600_000,
      cachedWriteTokens: 300_000,
      thoughtTokens: 0,
    };
    const costOf = (price: Parameters<Conversation["spent"]>[1]): number => {
      const conversation = new Conversation();
      conversation.spent(usage, price);
      return Math.round((conversation.cost ?? 0) * 1_000) / 1_000;
    };
    assert.equal(costOf({ input: 3, output: 15, cachedInput: 0.3 }), 0.3 + 0.18 + 1.125 + 1.5);
    assert.equal(costOf({ input: 3, output: 15, cachedInput: 0.3, cacheWrite: 6 }), 3.78);
  });

  it("uses the provider's token count, and estimates only what was added since", () => {
    const conversation = new Conversation([{ role: "user", content: "x".repeat(35_000) }]);
    const guessed = conversation.size;
    assert.ok(guessed >= 10_000);
    conversation.counted({
      inputTokens: 900,
      outputTokens: 100,
      cachedReadTokens: 0,
      cachedWriteTokens: 0,
      thoughtTokens: 0,
    });
    assert.equal(conversation.size, 1_000);
    conversation.add({ role: "user", content: "x".repeat(350) });
    assert.ok(conversation.size > 1_000 && conversation.size < 1_200);
    conversation.replace([]);
    assert.equal(conversation.size, 0);
  });
});
