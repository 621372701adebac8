import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { gitLabNote } from "../../../test/samples/sample-forge-reviews.ts";
import { isGitLabDiscussions, readGitLabDiscussions } from "./remote-thread.ts";

const discussion = (...notes: object[]): object => ({ id: "ab", individual_note: false, notes });

/** A note at other lines. */
function at(more: object): object {
  const note = gitLabNote({ id: 1 });
  return { ...note, position: { ...(note.position as object), ...more } };
}

describe("readGitLabDiscussions()", () => {
  it("tells added, removed and unchanged lines apart, and reads ranges", () => {
    const codes = { start: { line_code: "x_3_5" } };
    const cases: [object, object][] = [
      [
        { new_line: 7, old_line: null, line_range: null },
        { side: "new", line: 7, end: 7 },
      ],
      [
        { new_line: null, old_line: 7, line_range: null },
        { side: "old", line: 7, end: 7 },
      ],
      [
        { new_line: 7, old_line: 6, line_range: codes },
        { side: "new", line: 5, end: 7 },
      ],
      [
        { new_line: null, old_line: 6, line_range: codes },
        { side: "old", line: 3, end: 6 },
      ],
    ];
    for (const [position, expected] of cases) {
      const { threads } = readGitLabDiscussions([discussion(at(position))]);
      const [thread] = threads;
      const { line, end } = thread?.places[0] ?? {};
      assert.deepEqual({ side: thread?.side, line, end }, expected);
    }
  });

  it("is resolved when all that can be is, and reads a plain suggestion", () => {
    const notes = [
      gitLabNote({ id: 1, resolved: true, body: "So:\n```suggestion:-0+0\nx\n```" }),
      gitLabNote({ id: 2, resolvable: false }),
    ];
    const [thread] = readGitLabDiscussions([discussion(...notes)]).threads;
    assert.equal(thread?.isResolved, true);
    assert.equal(thread?.comments[0]?.text, "So:\n```suggestion\nx\n```");
  });

  it("refuses a bad discussion, and reads the others", () => {
    const bad = discussion(at({ new_path: null }));
    const { threads, refused } = readGitLabDiscussions([bad, 3, discussion(), discussion(at({}))]);
    assert.deepEqual(
      [threads.length, refused],
      [1, ["Cannot import discussion ab: it names no file."]],
    );
    assert.equal(isGitLabDiscussions([discussion()]), true);
    assert.equal(isGitLabDiscussions([{ notes: 1 }]), false);
  });
});
