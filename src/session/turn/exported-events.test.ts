import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { holdSecret } from "../../base/text/mask.ts";
import type { SessionEvent } from "../event.ts";
import { exportedEvents } from "./exported-events.ts";

const HELD = "plain-old-secret";

function piece(text: string, sessionUpdate = "agent_message_chunk"): SessionEvent {
  const update = { sessionUpdate, content: { type: "text", text } };
  return { kind: "update", update } as unknown as SessionEvent;
}

async function texts(events: readonly SessionEvent[]): Promise<string[]> {
  holdSecret(HELD);
  const given = events.map((event, seq) => ({ seq, event }));
  const exported = await Array.fromAsync(exportedEvents(fromArray(given)));
  assert.deepEqual(
    exported.map(({ seq }) => seq),
    given.map(({ seq }) => seq),
  );
  return exported.map(({ event }) => {
    const { content } = (event as { update?: { content?: { text?: string } } }).update ?? {};
    return content?.text ?? JSON.stringify(event);
  });
}

async function* fromArray<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

describe("exportedEvents()", () => {
  it("masks secrets in every event, by value, name and shape", async () => {
    const prompt = [{ type: "text", text: `use ${HELD} and ghp_${"a1".repeat(18)}` }];
    const event = { kind: "prompt", turnId: "1", prompt, by: "me" } as unknown as SessionEvent;
    const [shown = ""] = await texts([event]);
    assert.match(shown, /"text":"use ••• and •••"/);
  });

  it("masks a secret that came in several pieces, and keeps the pieces that have none", async () => {
    const pieces = ["It is plain", "-old-", "secret", ". Good"].map((text) => piece(text));
    assert.deepEqual(await texts(pieces), ["It is •••. Good", "", "", ""]);
    assert.deepEqual(await texts([piece("a"), piece("b")]), ["a", "b"]);
  });

  it("takes pieces of two kinds for two texts", async () => {
    const thought = piece("plain-old", "agent_thought_chunk");
    assert.deepEqual(await texts([thought, piece("-secret")]), ["plain-old", "-secret"]);
  });
});
