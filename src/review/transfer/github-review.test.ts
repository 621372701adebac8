import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { gitHubComment } from "../../../test/samples/sample-forge-reviews.ts";
import { isGitHubComments, readGitHubComments } from "./remote-thread.ts";

describe("readGitHubComments()", () => {
  it("takes the current lines first, then the original ones, and quotes the end of the hunk", () => {
    const hunk = "@@ -3,4 +3,4 @@ def x\n a\n-b\n+B\r\n c\r";
    const comment = gitHubComment({
      ...{ id: 7, diff_hunk: hunk, line: 9, start_line: 8, commit_id: "c2" },
      ...{ original_line: 5, original_start_line: 4, original_commit_id: "c1" },
    });
    const { threads } = readGitHubComments([comment]);
    assert.deepEqual(threads[0]?.places, [
      { commit: "c2", line: 8, end: 9 },
      { commit: "c1", line: 4, end: 5 },
    ]);
    assert.deepEqual(threads[0]?.quote, ["B", "c"]);
    assert.equal(threads[0]?.key, "github:github.com:7");
  });

  it("keeps replies to a deleted comment together", () => {
    const replies = [8, 9].map((id) => gitHubComment({ id, in_reply_to_id: 7 }));
    const { threads } = readGitHubComments(replies);
    assert.deepEqual(
      threads.map(({ key, comments }) => [key, comments.map(({ id }) => id)]),
      [["github:github.com:7", ["8", "9"]]],
    );
  });

  it("knows its input, also in pages, and nothing else", () => {
    assert.equal(isGitHubComments([gitHubComment({ id: 1 })]), true);
    assert.equal(isGitHubComments([[gitHubComment({ id: 1 })], []]), true);
    assert.equal(readGitHubComments([[gitHubComment({ id: 1 })], []]).threads.length, 1);
    for (const other of [[], {}, [1], [{ id: 1 }], null])
      assert.equal(isGitHubComments(other), false);
  });
});
