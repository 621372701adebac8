import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { subjectsOf } from "./subjects.ts";

describe("Subjects", () => {
  const subjects = subjectsOf("p");

  it("spread the events of sessions over all streams, always in the same way", () => {
    const ids = Array.from({ length: 400 }, (_, at) => `session-${at}`);
    const streams = new Set(ids.map((id) => subjects.eventStreamOf(id)));
    assert.deepEqual([...streams].toSorted(), subjects.eventStreams.toSorted());
    // What is stored must be found by later versions.
    assert.equal(subjects.eventStreamOf("session-1"), "TL_p_EVENTS_13");
    assert.equal(subjects.event("session-1"), "tl.p.event.13.session-1");
  });

  it("tell the session of a subject, also of an id with a dot", () => {
    for (const id of ["session-1", "codex.0123"]) {
      assert.equal(subjects.sessionOf(subjects.event(id)), id);
    }
  });
});
