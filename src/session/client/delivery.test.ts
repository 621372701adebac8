import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import type { SessionUpdate } from "../agent.ts";
import { Delivery } from "./delivery.ts";

const chunk = (text: string): SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
});

function open(limit = 1000, messages = 1) {
  mock.timers.enable({ apis: ["setTimeout"] });
  let time = 0;
  const shown: { at: number; seq: number; update: SessionUpdate }[] = [];
  const delivery: Delivery = new Delivery(0, {
    rate: { limit, windowMs: 60_000 },
    maxSize: 100 * 1024,
    now: () => time,
    show: ({ seq, text }) => {
      for (let at = 0; at < messages; at++) shown.push({ at: time, seq, update: JSON.parse(text) });
      delivery.counts(messages - 1);
    },
  });
  let seq = 0;
  return {
    delivery,
    shown,
    push(update: SessionUpdate) {
      const kind = update.sessionUpdate;
      delivery.push({ seq: ++seq, kind, update, text: JSON.stringify(update) });
    },
    pass(milliseconds: number) {
      for (let left = milliseconds; left > 0; left--) {
        time++;
        mock.timers.tick(1);
      }
    },
    [Symbol.dispose]: () => mock.timers.reset(),
  };
}

function assertRate(shown: readonly { readonly at: number }[]): void {
  for (const { at } of shown) {
    const inMinute = shown.filter((one) => one.at > at - 60_000 && one.at <= at).length;
    assert.ok(inMinute <= 1000, `${inMinute} updates in a minute`);
  }
}

describe("Delivery", () => {
  it("shows no more than the rate in any minute, and merges the rest without losing a character", () => {
    covers("acp.rate.update");
    using it = open();
    let text = "";
    for (let second = 0; second < 180; second++) {
      for (let at = 0; at < 100; at++) {
        it.push(chunk(`${second}.${at} `));
        text += `${second}.${at} `;
      }
      it.pass(1000);
    }
    it.pass(1000);
    const said = it.shown.map(({ update }) => (update.content as { text: string }).text).join("");
    assert.equal(said, text);
    assertRate(it.shown);
    assert.equal(it.delivery.last, 18_000);
    const gaps = it.shown.slice(1).map(({ at }, index) => at - (it.shown[index]?.at ?? 0));
    assert.ok(Math.max(...gaps) <= 1000, "the text stood still");
  });

  it("counts the messages that a client gets, which may be several for an update", () => {
    using it = open(1000, 3);
    for (let at = 0; at < 500; at++) {
      it.push({ sessionUpdate: "tool_call", toolCallId: `${at}`, title: "T" });
    }
    it.pass(200_000);
    assert.equal(it.shown.length, 1_500);
    assertRate(it.shown);
  });

  it("shows updates unchanged while the rate allows", () => {
    using it = open();
    for (let at = 0; at < 100; at++) it.push(chunk("x"));
    assert.equal(it.shown.length, 100);
  });

  it("shows 600 tool calls of a second in that second, each from its beginning to its end", () => {
    using it = open();
    for (let at = 0; at < 600; at++) {
      const toolCallId = `${at}`;
      it.push({ sessionUpdate: "tool_call", toolCallId, title: "T" });
      it.push({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
      if (at % 6 === 5) it.pass(10);
    }
    it.pass(10);
    assert.equal(it.delivery.last, 1_200);
    assert.ok(it.shown.length <= 900, String(it.shown.length));
    // Later text does not stand still.
    for (let second = 0; second < 70; second++) {
      it.push(chunk(`${second} `));
      it.pass(1_000);
      assert.equal(it.delivery.last, 1_201 + second);
    }
  });

  it("shows a flood in few messages, each as long as it may be", () => {
    using it = open();
    const texts = Array.from({ length: 20_000 }, (_, at) => `${"word ".repeat(12)}${at}\n"é" `);
    for (const text of texts) it.push(chunk(text));
    it.pass(2_000);
    const said = it.shown.map(({ update }) => (update.content as { text: string }).text);
    assert.equal(said.join(""), texts.join(""));
    const sizes = it.shown.map(({ update }) => Buffer.byteLength(JSON.stringify(update)));
    assert.ok(Math.max(...sizes) <= 100 * 1024 - 256);
    const merged = sizes.slice(450, -1);
    assert.ok(merged.length > 10 && Math.min(...merged) > 99 * 1024);
  });

  it("keeps the order, and merges only updates that mean the same merged", async () => {
    using it = open(10);
    for (let at = 0; at < 5; at++) it.push(chunk("-"));
    const tool = { sessionUpdate: "tool_call", toolCallId: "t", title: "T" };
    const status = (name: string) => ({
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      status: name,
    });
    const thought = { ...chunk("c"), sessionUpdate: "agent_thought_chunk" };
    const image = { ...chunk(""), content: { type: "image", data: "", mimeType: "image/png" } };
    for (const update of [chunk("a"), chunk("b"), thought, tool, status("in_progress")]) {
      it.push(update);
    }
    it.push({ ...status("completed"), rawOutput: 1 });
    for (const update of [image, image, chunk("d")]) it.push(update);
    const drained = it.delivery.drained();
    it.pass(240_000);
    await drained;
    assert.deepEqual(
      it.shown.slice(5).map(({ update }) => update),
      [
        chunk("ab"),
        thought,
        { ...tool, status: "completed", rawOutput: 1 },
        image,
        image,
        chunk("d"),
      ],
    );
  });

  it("makes the agent wait while too many updates wait that cannot be merged", () => {
    using it = open(10);
    const tool = (id: number) => ({ sessionUpdate: "tool_call", toolCallId: `${id}`, title: "T" });
    for (let at = 0; at < 100; at++) it.push(tool(at));
    assert.equal(it.delivery.room, undefined);
    for (let at = 0; at < 200; at++) it.push(tool(at));
    assert.notEqual(it.delivery.room, undefined);
  });
});
