import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readEntries } from "./entries.ts";

describe("readEntries()", () => {
  it("keeps the entries that work, and says what is wrong with the others", () => {
    const webhook = { url: "http://hooks.example.com/" };
    const { entries, problems } = readEntries([
      { command: ["bell", "-n"] },
      { push: true, command: ["bell"] },
      { push: false },
      { webhook },
      { name: "lan", webhook, allowPrivate: true, on: ["failed"] },
      { name: "lan", push: true },
    ]);
    assert.deepEqual(
      entries.map(({ name, how }) => [name, how.kind]),
      [
        ["command 1", "command"],
        ["lan", "webhook"],
      ],
    );
    assert.equal(problems.length, 4);
    assert.match(problems[0] ?? "", /notifications\[1\]`: it needs one of/);
    assert.match(problems[2] ?? "", /clear text\. Use https/);
    assert.match(problems[3] ?? "", /another one called 'lan'/);
    const [all, lan] = entries;
    assert.ok(all?.wants("question") && lan?.wants("failed") && lan.wants("test"));
    assert.ok(lan !== undefined && !lan.wants("question"));
  });

  it("finds an entry again by its name, or by what it says", () => {
    const keys = (...all: Parameters<typeof readEntries>[0][]): string[] =>
      all.flatMap((one) => readEntries(one).entries.map(({ key }) => key));
    const [one, again, other] = keys(
      [{ command: ["a"] }],
      [{ command: ["a"] }],
      [{ command: ["b"] }],
    );
    assert.equal(one, again);
    assert.notEqual(one, other);
    assert.deepEqual(keys([{ name: "x", command: ["a"] }], [{ name: "x", command: ["b"] }]), [
      "x",
      "x",
    ]);
  });
});
