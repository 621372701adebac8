import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { WrittenEvent, ThreadDocument } from "../../store/schema.gen.ts";
import { mergeThreads } from "./thread-kind.ts";

const OPENED: WrittenEvent = { kind: "opened", at: 1, by: "ada", role: "person", text: "one" };

function agent(kind: WrittenEvent["kind"], at: number, text?: string): WrittenEvent {
  return { kind, at, by: "bot", role: "agent", ...(text === undefined ? {} : { text }) };
}

function person(kind: WrittenEvent["kind"], at: number, text?: string): WrittenEvent {
  return { kind, at, by: "ada", role: "person", ...(text === undefined ? {} : { text }) };
}

function thread(
  state: ThreadDocument["state"],
  events: readonly WrittenEvent[],
  more: Partial<ThreadDocument> = {},
): ThreadDocument {
  return {
    id: "r00000",
    repository: { gitDir: "/r/.git", root: "/r", remotes: [] },
    anchor: { path: "a", side: "new" },
    severity: "nit",
    comment: "one",
    by: "ada",
    source: "test",
    at: 1,
    events: [OPENED, ...events],
    state,
    ...more,
  };
}

describe("mergeThreads()", () => {
  const CASES: readonly [string, ThreadDocument, ThreadDocument, string][] = [
    [
      "a reply and a resolution: it is resolved, whichever was first",
      thread("answered", [agent("replied", 5, "done")]),
      thread("resolved", [person("resolved", 3)]),
      "resolved",
    ],
    [
      "a reply of an agent, and one of a person after it: it is open again",
      thread("answered", [agent("replied", 5, "done")]),
      thread("open", [person("replied", 6, "more")]),
      "reopened",
    ],
    [
      "a resolution, and a person who reopens it later elsewhere",
      thread("resolved", [person("resolved", 5)]),
      thread("reopened", [person("resolved", 3), person("reopened", 6)]),
      "reopened",
    ],
  ];
  for (const [name, one, other, state] of CASES) {
    it(`gives the same at both nodes: ${name}`, () => {
      const [here, there] = [mergeThreads(one, other), mergeThreads(other, one)];
      assert.equal(here.state, state);
      assert.deepEqual(there, here);
      assert.deepEqual(mergeThreads(here, one), here);
    });
  }

  it("keeps the claim that was shared first", () => {
    const claim = (name: string) => ({ agent: name, until: 9, before: "open" as const });
    const mine = thread("claimed", [agent("claimed", 5)], { claim: claim("mine") });
    const theirs = thread("claimed", [agent("claimed", 4)], { claim: claim("theirs") });
    const merged = mergeThreads(mine, theirs);
    assert.equal(merged.state, "claimed");
    assert.equal(merged.claim?.agent, "theirs");
  });

  it("knows which comments of a forge an event is from both", () => {
    const one = thread("open", [{ ...person("replied", 2, "x"), comments: ["b"] }]);
    const other = thread("open", [{ ...person("replied", 2, "x"), comments: ["a"] }]);
    assert.deepEqual(mergeThreads(one, other).events.at(-1)?.comments, ["a", "b"]);
  });
});
