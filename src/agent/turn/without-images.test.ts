import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Offer } from "../../tool/offer/offer.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm, type Request, type Scripted } from "../../../test/agent/fake-llm.ts";
import { withoutImages } from "./compact.ts";

const DATA = "iVBORw0KGgo=";
const IMAGE = { type: "image", data: DATA, mimeType: "image/png" };
const WITH_IMAGE = { prompt: [{ type: "text", text: "What is this?" }, IMAGE] };

const hasImage = ({ messages }: Request): boolean => JSON.stringify(messages).includes(DATA);
const refusing = (status: number, message: string): Scripted => ({
  error: { message },
  status,
  when: hasImage,
});
const says = (content: string): Scripted => ({ content, when: (request) => !hasImage(request) });

describe("an image that a model refuses", () => {
  for (const [status, message] of [
    [400, "Invalid content type"],
    [500, "image input is not supported - hint: you may need to provide the mmproj"],
    [413, "Payload too large"],
  ] as const) {
    it(`is replaced by a note, and the session continues (status ${status})`, async () => {
      await using llm = await FakeLlm.start([refusing(status, message), says("I cannot see it.")]);
      await using rig = new AgentRig({ llm });
      const session = await rig.open();
      const { turn, end } = await rig.turnOf(session, WITH_IMAGE);
      assert.equal(end.stopReason, "end_turn");
      assert.match(turn.text, /I cannot see it\.$/);
      assert.match(turn.notices, /did not take an image, so it answers without it/);
      assert.match(llm.seen(-1), /What is this\?.*Here was an image, which .* does not take/);
      const before = llm.requests.length;
      await rig.turnOf(session, "And now?");
      assert.equal(llm.requests.length, before + 1, "it is not tried again");
    });
  }

  it("is replaced as well if it is a tool's result", async () => {
    const offer = new Offer();
    const definition = { name: "shot", inputSchema: { type: "object" } };
    offer.tools.add({ definition, call: () => ({ content: [IMAGE] }) });
    await using llm = await FakeLlm.start([
      {
        toolCalls: [{ name: "shot", arguments: {} }],
        when: ({ messages }) => messages.every(({ role }) => role !== "tool"),
      },
      refusing(400, "no"),
      says("Done."),
    ]);
    await using rig = new AgentRig({ llm, offer: async () => offer });
    const { turn } = await rig.turn("go");
    assert.match(turn.text, /Done\.$/);
    assert.match(llm.seen(-1), /user: .*Here was an image/);
  });

  it("is not blamed for an error that also occurs without it", async () => {
    await using llm = await FakeLlm.start([
      { error: { message: "No" }, status: 400 },
      { error: { message: "No" }, status: 400 },
      { content: "A picture." },
    ]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    await assert.rejects(rig.turnOf(session, WITH_IMAGE), /status 400/);
    assert.equal(llm.requests.length, 2);
    await rig.turnOf(session, "again");
    assert.ok(hasImage(llm.requests.at(-1) as Request), "it is still there");
  });
});

describe("withoutImages()", () => {
  it("leaves earlier messages alone, and reports if there is no image to remove", () => {
    const file = { type: "file", data: DATA, mediaType: "image/png" } as const;
    const messages = [
      { role: "user", content: [file] },
      { role: "assistant", content: "Yes." },
      { role: "user", content: [{ type: "text", text: "a" }, file] },
    ] as const;
    const copy = messages.map(({ role, content }) => ({
      role,
      content: typeof content === "string" ? content : [...content],
    })) as Parameters<typeof withoutImages>[0];
    const bare = withoutImages(copy, 2, "(note)");
    assert.deepEqual(bare?.[0], messages[0]);
    assert.deepEqual(bare?.[2]?.content, [
      { type: "text", text: "a" },
      { type: "text", text: "(note)" },
    ]);
    assert.equal(withoutImages(copy, 3, "(note)"), undefined);
  });
});
