import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { allWordsOf, askedBy, plainQuery, stem, wordsOf } from "./words.ts";

describe("wordsOf()", () => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    [
      "splits at punctuation",
      "API-get-self, list_files/now",
      ["api", "get", "self", "list", "fil", "now"],
    ],
    ["splits at case", "linear_createIssueURLMap", ["linear", "creat", "issu", "url", "map"]],
    ["leaves out words that say nothing", "Use this to get the file", ["get", "fil"]],
    ["takes several words for one", "open a Pull Request", ["open", "pr"]],
    ["takes the same from a name", "merge_pull_request", ["merg", "pr"]],
    ["leaves out what is too long to be a word", `a ${"x".repeat(41)} b1`, ["b1"]],
    ["leaves out a million capitals", `a1 ${"A".repeat(1_000_000)} b1`, ["a1", "b1"]],
    ["keeps words of other languages", "Größe ändern", ["größe", "ändern"]],
  ];
  for (const [what, text, words] of cases) {
    it(what, () => assert.deepEqual(wordsOf(text), words));
  }
});

describe("allWordsOf()", () => {
  it("has the words, too, that say nothing by themselves", () => {
    assert.deepEqual(allWordsOf("Take these files out"), ["tak", "these", "fil", "out"]);
  });
});

describe("askedBy()", () => {
  it("takes a question for what it asks for", () => {
    assert.deepEqual(allWordsOf("Which branches are there?").flatMap(askedBy), ["list", "branch"]);
    assert.deepEqual(allWordsOf("who is it").flatMap(askedBy), ["get", "user"]);
  });
});

describe("plainQuery()", () => {
  it("leaves out what is quoted, unless there is nothing else", () => {
    assert.equal(plainQuery('say "hello" and “bye”').trim(), "say   and");
    assert.equal(plainQuery('"list users"'), '"list users"');
  });

  it("has words for names of files, addresses and numbers of issues", () => {
    assert.equal(plainQuery("notes.txt"), " file ");
    assert.equal(plainQuery("https://example.com/a"), " url ");
    assert.equal(plainQuery("ENG-12"), " issue ");
  });
});

describe("stem()", () => {
  const families = [
    ["create", "creates", "created", "creating", "creation"],
    ["list", "lists", "listed", "listing"],
    ["query", "queries"],
    ["branch", "branches"],
    ["stop", "stopped", "stopping"],
    ["approve", "approval"],
    ["migrate", "migration", "migrations", "migrating", "migrated"],
    ["notify", "notification"],
    ["describe", "description"],
    ["depend", "dependent", "dependency", "dependencies"],
    ["deploy", "deployment"],
  ];
  for (const family of families) {
    it(`is the same for ${family.join(", ")}`, () => {
      assert.equal(new Set(family.map(stem)).size, 1, family.map(stem).join(" "));
    });
  }

  it("tells customers from custom fields, and settings from sets", () => {
    assert.notEqual(stem("customers"), stem("custom"));
    assert.notEqual(stem("settings"), stem("set"));
  });

  it("keeps short words and what is no English word", () => {
    for (const word of ["pr", "css", "k8s", "größe"]) assert.equal(stem(word), word);
  });
});
