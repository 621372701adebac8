import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Conversation } from "./conversation.ts";

const text = (message: object): string => JSON.stringify({ jsonrpc: "2.0", ...message });

describe("Conversation", () => {
  it("knows which requests are open: not those that were answered or cancelled", () => {
    const conversation = new Conversation();
    conversation.fromClient(text({ id: 1, method: "tools/list" }));
    conversation.fromClient(`{"method":"ping","id":"\\u0061","jsonrpc":"2.0"}`);
    conversation.fromClient(text({ id: 3, method: "tools/call", params: { name: "x" } }));
    conversation.fromClient(text({ id: 4, method: "tools/call", params: { name: "x" } }));
    conversation.toClient(text({ id: 1, result: { tools: [] } }));
    conversation.toClient(text({ id: "a", result: {} }));
    conversation.fromClient(text({ method: "notifications/cancelled", params: { requestId: 3 } }));
    assert.deepEqual([...conversation.open.keys()], ["4"]);
    assert.equal(conversation.isAboutOpen(text({ id: 9, method: "ping" })), false);
    const cancel = { method: "notifications/cancelled", params: { requestId: 4 } };
    assert.equal(conversation.isAboutOpen(text(cancel)), true);
    assert.equal(conversation.isAboutOpen(text({ id: 1, result: {} })), true);
  });

  it("resolves when nothing is open any more", async () => {
    const conversation = new Conversation();
    await conversation.drained();
    conversation.fromClient(text({ id: 1, method: "ping" }));
    let isDrained = false;
    const drained = conversation.drained().then(() => (isDrained = true));
    await new Promise(setImmediate);
    assert.equal(isDrained, false);
    conversation.toClient(text({ id: 1, error: { code: -1, message: "no" } }));
    await drained;
  });

  it("reads the messages of a batch", () => {
    const conversation = new Conversation();
    const batch = [text({ id: 1, method: "ping" }), text({ id: 2, method: "ping" })];
    conversation.fromClient(` [${batch.join(",")}]`);
    assert.equal(conversation.open.size, 2);
    conversation.toClient(`[${text({ id: 1, result: {} })},${text({ id: 2, result: {} })}]`);
    assert.equal(conversation.open.size, 0);
  });

  it("keeps what sets the session up, as far as it was accepted", () => {
    const conversation = new Conversation();
    const initialize = text({ id: 0, method: "initialize", params: {} });
    const watch = (id: number, uri: string): string =>
      text({ id, method: "resources/subscribe", params: { uri } });
    const requests = [
      initialize,
      text({ id: 1, method: "logging/setLevel", params: { level: "debug" } }),
      watch(2, "a:1"),
      watch(3, "a:2"),
      text({ id: 4, method: "resources/unsubscribe", params: { uri: "a:1" } }),
    ];
    for (const [id, request] of requests.entries()) {
      conversation.fromClient(request);
      const outcome = id === 1 ? { error: { code: 1, message: "no" } } : { result: {} };
      conversation.toClient(text({ id, ...outcome }));
    }
    conversation.fromClient(text({ method: "notifications/initialized" }));
    assert.deepEqual(
      [...conversation.setUp.values()],
      [initialize, watch(3, "a:2"), text({ method: "notifications/initialized" })],
    );
  });

  it("counts the questions to the client, and the ids that are in use", () => {
    const conversation = new Conversation();
    assert.equal(conversation.nextQuestion, 1);
    conversation.toClient(text({ id: 7, method: "elicitation/create", params: {} }));
    conversation.toClient(text({ id: 3, method: "roots/list", params: {} }));
    conversation.fromClient(text({ id: 3, result: { roots: [] } }));
    assert.deepEqual([...conversation.questions], ["7"]);
    assert.equal(conversation.nextQuestion, 8);
    conversation.toClient(text({ method: "notifications/cancelled", params: { requestId: 7 } }));
    assert.deepEqual([...conversation.questions], []);
    assert.equal(conversation.nextQuestion, 8);
  });
});
