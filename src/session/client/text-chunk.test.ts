import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SessionUpdate } from "../agent.ts";
import { jsonOf, parsedUpdate, TextChunk } from "./text-chunk.ts";

const update = (text: string, more: object = {}): SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
  ...more,
});

const chunk = (text: string, more: object = {}): TextChunk => {
  const made = TextChunk.from(update(text, more));
  assert.ok(made !== undefined);
  return made;
};

describe("TextChunk", () => {
  it("reads like the update that it stands for", () => {
    const made = chunk('a "quoted"\n🙂', { messageId: "m" });
    assert.equal(made.sessionUpdate, "agent_message_chunk");
    assert.equal(made.messageId, "m");
    assert.deepEqual(made.content, { type: "text", text: 'a "quoted"\n🙂' });
    assert.deepEqual(parsedUpdate(made), update('a "quoted"\n🙂', { messageId: "m" }));
    assert.equal(JSON.stringify(made), jsonOf(parsedUpdate(made)));
    assert.equal(made.bytes, Buffer.byteLength(JSON.stringify(made)));
  });

  it("joins texts with their escapes, also halves of a surrogate pair", () => {
    const texts = ["\\", '"', "\u0000", "\ud83d", "\ude42", "é", "\u2028", ""];
    let joined = chunk("");
    for (const text of texts) joined = joined.join(chunk(text), 1_000) ?? assert.fail();
    assert.deepEqual(joined.toJSON(), update(texts.join("")));
    assert.equal(joined.bytes, Buffer.byteLength(joined.json));
  });

  it("joins up to the limit, to the byte", () => {
    const most = Buffer.byteLength(JSON.stringify(update("éa")));
    assert.equal(chunk("é").join(chunk("a"), most)?.bytes, most);
    assert.equal(chunk("é").join(chunk("a"), most - 1), undefined);
  });

  it("joins a flood in time that grows with its length alone", () => {
    const part = chunk("0123456789");
    let joined = part;
    const began = process.cpuUsage();
    for (let at = 0; at < 100_000; at++) joined = joined.join(part, Infinity) ?? assert.fail();
    assert.equal(parsedUpdate(joined).sessionUpdate, "agent_message_chunk");
    // Some milliseconds; copying the text each time would take a minute.
    assert.ok(process.cpuUsage(began).user < 10_000_000);
  });

  it("is not made of updates that carry more than text", () => {
    for (const other of [
      update("", { _meta: {} }),
      update("", { content: { type: "text", text: "", annotations: {} } }),
      update("", { content: { type: "image" } }),
      update("", { content: undefined }),
      update("", { sessionUpdate: "plan" }),
    ]) {
      assert.equal(TextChunk.from(other), undefined);
    }
  });

  it("is not what an agent says of itself", () => {
    const lies = JSON.parse(
      '{"sessionUpdate":"plan","__proto__":{"head":""},"json":"x","trunkline.TextChunk":true}',
    ) as SessionUpdate;
    assert.equal(TextChunk.is(lies), false);
    assert.equal(jsonOf(lies), JSON.stringify(lies));
  });
});
