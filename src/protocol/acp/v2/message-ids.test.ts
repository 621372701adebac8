import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { MessageIds } from "./codec.ts";

type Said = readonly [kind: string, messageId?: string];

/** The ids under which a client sees these updates, event by event. */
function idsOf(...said: Said[]): unknown[] {
  const ids = new MessageIds();
  return said.map(([kind, messageId], index) => {
    const update = { sessionUpdate: kind, ...(messageId === undefined ? {} : { messageId }) };
    return ids.put(update, index + 1).messageId;
  });
}

const USER: Said = ["user_message_chunk", "turn"];
const AGENT: Said = ["agent_message_chunk"];
const THOUGHT: Said = ["agent_thought_chunk"];
const TOOL: Said = ["tool_call"];

describe("MessageIds", () => {
  it("gives all chunks of one message one id, and the next message the next", () => {
    assert.deepEqual(idsOf(USER, AGENT, AGENT, TOOL, AGENT), [
      "turn",
      "turn.1",
      "turn.1",
      undefined,
      "turn.2",
    ]);
  });

  it("distinguishes thoughts from text", () => {
    assert.deepEqual(idsOf(USER, THOUGHT, AGENT, THOUGHT).slice(1), ["turn.1", "turn.2", "turn.3"]);
  });

  it("continues a message after an update that may interrupt it", () => {
    const inBetween: Said[] = [["usage_update"], ["tool_call_update"], ["notice"]];
    assert.deepEqual(
      new Set(idsOf(USER, AGENT, ...inBetween, AGENT).slice(1)),
      new Set(["turn.1", undefined]),
    );
  });

  it("gives the same ids when a session is replayed", () => {
    const said = [USER, AGENT, TOOL, AGENT, ["user_message_chunk", "next"], AGENT] as const;
    assert.deepEqual(idsOf(...said), idsOf(...said));
    assert.equal(idsOf(...said).at(-1), "next.1");
  });

  it("keeps counting if a prompt has several blocks, and names a turn by its event for late clients", () => {
    assert.deepEqual(idsOf(USER, USER, AGENT), ["turn", "turn", "turn.1"]);
    assert.deepEqual(idsOf(TOOL, AGENT), [undefined, "event-2.1"]);
  });

  it("keeps an id that the agent has given", () => {
    assert.equal(idsOf(USER, ["agent_message_chunk", "own"])[1], "own");
  });
});
