import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Repetition } from "./run-turn.ts";

const call = (args: unknown = {}) => ({ id: crypto.randomUUID(), name: "read_file", args });

describe("Repetition", () => {
  it("warns the model from the third equal answer on, and ends at the sixth", () => {
    const repetition = new Repetition();
    const texts = Array.from({ length: 6 }, () => repetition.note(call(), { text: "one" }).text);
    assert.deepEqual(texts.slice(0, 2), ["one", "one"]);
    assert.match(
      texts[2] ?? "",
      /^one\n\(This is the same answer to the same call for the 3th time/,
    );
    assert.equal(repetition.isEndless, true);
  });

  it("starts again with other arguments, another answer, or another tool in between", () => {
    const repetition = new Repetition();
    for (let time = 0; time < 10; time++) {
      repetition.note(call(), { text: "one" });
      repetition.note(call(), { text: "one" });
      assert.equal(repetition.note(call({ line: time }), { text: "one" }).text, "one");
      repetition.note(call(), { text: `other ${time}` });
    }
    assert.equal(repetition.isEndless, false);
  });
});
