import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { loadVocabulary, Vocabulary } from "./vocabulary.ts";
import { allWordsOf } from "./words.ts";
import file from "./vocabulary.json" with { type: "json" };

describe("Vocabulary", () => {
  const vocabulary = new Vocabulary({
    groups: ["delete remove", "note comment text"],
    phrases: [
      "delete remove = rub out | throw .. away | take .. out",
      "add + comment note = comment on",
      "search = look up | look",
      "list = look",
    ],
  });
  const parts = (query: string): unknown => {
    return vocabulary.partsOf(query).map(({ words, meant }) => [words, [...meant]]);
  };

  it("knows the other words of a word's groups", () => {
    assert.deepEqual([...vocabulary.synonymsOf("comment")], ["not", "text"]);
    assert.deepEqual([...vocabulary.synonymsOf("xyzzy")], []);
  });

  const cases: readonly (readonly [string, string, unknown])[] = [
    [
      "finds a phrase",
      "rub out cats",
      [
        [["rub"], ["delet", "remov"]],
        [["cat"], []],
      ],
    ],
    ["finds its other forms", "Rubbing out!", [[["rub"], ["delet", "remov"]]]],
    [
      "finds one with words between",
      "throw the old cat away",
      [
        [
          ["throw", "away"],
          ["delet", "remov"],
        ],
        [["old"], []],
        [["cat"], []],
      ],
    ],
    [
      "finds none with too many words between",
      "take a b c d e f out",
      [["tak", "b", "c", "d", "e", "f"].map((word) => [[word], []])].flat(),
    ],
    [
      "has a part for each thing that is meant",
      "comment on",
      [
        [[], ["add"]],
        [["comment"], ["comment", "not"]],
      ],
    ],
    ["joins what the same words may mean", "look", [[["look"], ["search", "list"]]]],
    ["has each word once", "cats and a cat", [[["cat"], []]]],
    ["finds nothing in nothing", " ", []],
  ];
  for (const [what, query, expected] of cases) {
    it(what, () => assert.deepEqual(parts(query), expected));
  }

  it("takes the longest of several phrases", () => {
    const [part] = vocabulary.partsOf("look up");
    assert.deepEqual([...(part?.meant ?? [])], ["search"]);
  });
});

describe("loadVocabulary()", () => {
  it("reads the file once", async () => {
    assert.equal(await loadVocabulary(), await loadVocabulary());
  });

  it("knows all that the file has", async () => {
    const vocabulary = await loadVocabulary();
    for (const line of file.phrases) {
      const [meant = "", said = ""] = line.split(" = ");
      assert.ok(meant !== "" && said !== "", line);
      for (const phrase of said.split(" | ")) {
        assert.ok(allWordsOf(phrase.replaceAll("..", " ")).length > 0, `${line}: '${phrase}'`);
        assert.ok(!/^\.\.|\.\.$/.test(phrase), `${line}: '${phrase}' begins or ends with a gap`);
        const parts = vocabulary.partsOf(phrase.replaceAll("..", "xyzzy"));
        assert.ok(
          parts.some((part) => part.meant.size > 0),
          `${line}: '${phrase}'`,
        );
      }
    }
  });
});
