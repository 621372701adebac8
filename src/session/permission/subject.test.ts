import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type PermissionSubject, subjectKey, subjectOf, subjectWords } from "./subject.ts";

const run = (command: string, folder = ".", sandbox: "in" | "left" | "none" = "in") =>
  ({ action: "run", command, folder, sandbox }) as const;

describe("subjectKey()", () => {
  it("differs for subjects whose words are the same", () => {
    const pairs: readonly (readonly [PermissionSubject, PermissionSubject])[] = [
      [run("./check.sh", "sub"), run("./check.sh in sub")],
      [run("x", ".", "left"), { ...run("x"), command: "x" }],
      [
        { action: "call", server: "a/b", tool: "c" },
        { action: "call", server: "a", tool: "b/c" },
      ],
      [
        { action: "call", server: "a", tool: "b", isBrought: true },
        { action: "call", server: "session server a", tool: "b" },
      ],
      [
        { action: "connect", host: "x.example" },
        { action: "fetch", host: "x.example" },
      ],
    ];
    for (const [one, other] of pairs) assert.notEqual(subjectKey(one), subjectKey(other));
    const [[one, other] = []] = pairs;
    assert.equal(subjectWords(one ?? run("")), subjectWords(other ?? run("")));
  });

  it("is the same whatever the order of the parts, and leads back to the subject", () => {
    const subject = run('echo "\u2028"', "sub/ä");
    const { action, ...rest } = subject;
    assert.equal(subjectKey(subject), subjectKey({ ...rest, action }));
    assert.deepEqual(subjectOf(subjectKey(subject)), subject);
  });
});
