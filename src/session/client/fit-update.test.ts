import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp } from "../../../test/support/acp-app.ts";
import { chunk } from "../../../test/support/scripted-agent.ts";
import { fitUpdate } from "./fit-update.ts";
import { covers } from "../../../test/support/requirement.ts";

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

describe("fitUpdate()", () => {
  it("splits text into pieces that each fit, escaped or not, and never splits a character", () => {
    for (const unit of ["x", "\0", "é", "😀", "a😀"]) {
      const update = chunk(unit.repeat(5_000));
      const parts = fitUpdate(update, JSON.stringify(update), 1_000);
      assert.ok(parts.length > 1);
      const texts = parts.map(({ content }) => (content as { text: string }).text);
      assert.equal(texts.join(""), unit.repeat(5_000));
      assert.ok(texts.every((text) => text.isWellFormed()));
      assert.ok(parts.every((part) => bytes(part) <= 1_000));
    }
  });

  it("leaves an update that fits unchanged", () => {
    const update = chunk("x".repeat(690));
    assert.deepEqual(fitUpdate(update, JSON.stringify(update), 1_024), [update]);
  });

  it("shortens the longest texts of other updates, and says by how much", () => {
    const content = [{ type: "diff", path: "/a", oldText: "o".repeat(9_000), newText: "new" }];
    const update = { sessionUpdate: "tool_call", toolCallId: "t", title: "Edit", content };
    const [short, ...rest] = fitUpdate(update, JSON.stringify(update), 1_024);
    assert.deepEqual(rest, []);
    assert.ok(bytes(short) <= 1_024);
    assert.match(JSON.stringify(short), /o… \(\d+ characters more\).*"newText":"new"/);
  });

  it("keeps the identifying members of a tool call with thousands of small parts", () => {
    const rawInput = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`key${at}`, at]));
    const about = { sessionUpdate: "tool_call", toolCallId: "t", title: "T", status: "pending" };
    const update = { ...about, rawInput };
    assert.deepEqual(fitUpdate(update, JSON.stringify(update), 1_024), [about]);
  });
});

describe("an update that is too large for one message", { timeout: 30_000 }, () => {
  it("is split if it is text over 100 KB, and otherwise shortened", async () => {
    covers("acp.size.update");
    const long = "ä\0😀\n".repeat(60_000);
    await using app = await AcpApp.open({
      script: async (turn) => {
        await turn.update(chunk(long));
        await turn.update({
          sessionUpdate: "tool_call",
          toolCallId: "t",
          title: "Edit",
          content: [{ type: "diff", path: "/a", oldText: "x".repeat(300_000), newText: "y" }],
        });
      },
    });
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "x");
    assert.equal(client.text, long);
    for (const message of client.messages) {
      assert.ok(Buffer.byteLength(JSON.stringify(message)) <= 100 * 1024);
    }
    const tool = client.updates.at(-1);
    assert.equal(tool?.title, "Edit");
    assert.match(tool?.content[0].oldText, /… \(\d+ characters more\)$/);
  });
});
