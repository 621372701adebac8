import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SessionEvent } from "../../../session/event.ts";
import type { ReadSession, SessionReading } from "../../../store/session/session-reader.ts";
import type { SessionRow } from "../session-api.ts";
import { SessionDigest } from "./session-digest.ts";
import { sessionRowsOf } from "./session-rows.ts";

const PROMPT: SessionEvent = { kind: "prompt", turnId: "t", prompt: [], by: "zed" };
const END: SessionEvent = { kind: "end", turnId: "t", stopReason: "end_turn" };

const rows = sessionRowsOf({
  reader: {} as SessionReading,
  holder: () => "here",
  nameOf: (owner) => owner,
  identityOf: () => Promise.resolve(undefined),
});

function rowOf(
  { notes = {}, holder }: { readonly notes?: object; readonly holder?: string },
  ...events: SessionEvent[]
): SessionRow {
  const digest = new SessionDigest();
  for (const [at, message] of events.entries()) {
    digest.read({ seq: at + 1, at, direction: "agent", message });
  }
  const session = { id: "s", cwd: "/", agent: "a", created: 1, updated: 1, last: 1, notes, holder };
  return rows.rowWith(session as unknown as ReadSession, digest);
}

describe("the row of a session", () => {
  it("calls a turn interrupted whose process died, also before anybody has opened it again", () => {
    const notes = { turn: "t" };
    assert.equal(rowOf({ notes }, PROMPT).ended, "interrupted");
    assert.equal(rowOf({ notes, holder: "here" }, PROMPT).ended, undefined, "it runs");
    assert.equal(rowOf({ notes }, PROMPT, END).ended, "end_turn", "only the notes are old");
    assert.equal(rowOf({}, PROMPT, { ...END, stopReason: "interrupted" }).ended, "interrupted");
    assert.equal(rowOf({}).ended, undefined);
  });

  it("has the model that was said last, or was chosen, or that the agent had when it was opened", () => {
    const notes = { model: "usual", chosen: {} };
    assert.equal(rowOf({}).model, undefined);
    assert.equal(rowOf({ notes }).model, "usual");
    assert.equal(rowOf({ notes: { ...notes, chosen: { modelId: "chosen" } } }).model, "chosen");
    assert.equal(rowOf({ notes }, { kind: "setting", setting: "model", id: "last" }).model, "last");
  });
});
