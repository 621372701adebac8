import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseNote } from "./git-ai-note.ts";

const NOTE = `src/a.ts
  s_c9883b05a2487d::t_9f8e7d6c5b4a32 1-3,7
  h_31e5a1c0b2d4f6 5
"src/with space.ts"
  0123456789abcdef 2
---
{
  "schema_version": "authorship/3.0.0",
  "sessions": { "s_c9883b05a2487d": { "agent_id": { "tool": "claude", "id": "one", "model": "opus" }, "human_author": "Ada" } },
  "prompts": { "0123456789abcdef": { "agent_id": { "tool": "cursor", "id": "two", "model": "auto" } } }
}
`;

describe("parseNote()", () => {
  it("reads sessions, the old form beside them, and quoted paths; people are no agents", () => {
    assert.deepEqual(parseNote(NOTE), [
      {
        path: "src/a.ts",
        step: {
          by: "agent",
          session: "one",
          agent: "claude",
          model: "opus",
          call: "t_9f8e7d6c5b4a32",
        },
        lines: [1, 2, 3, 7],
      },
      {
        path: "src/with space.ts",
        step: { by: "agent", session: "two", agent: "cursor", model: "auto", call: undefined },
        lines: [2],
      },
    ]);
  });

  it("passes over what other people wrote in another form, however large it says it is", () => {
    assert.deepEqual(parseNote("hello"), []);
    assert.deepEqual(parseNote("a\n  s_1 1\n---\nno JSON"), []);
    assert.deepEqual(parseNote(NOTE.replace("1-3,7", "1-999999999999")).length, 1);
    const often = Array.from({ length: 50 }, () => "1-900000").join();
    const [first] = parseNote(NOTE.replace("1-3,7", often));
    assert.ok((first?.lines.length ?? 0) <= 1_000_000);
    assert.deepEqual(parseNote('"open\n  s_c9883b05a2487d 1\n---\n{}'), []);
  });
});
