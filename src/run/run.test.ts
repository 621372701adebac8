import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { commitMessage } from "./run.ts";

const messageOf = (...texts: string[]) =>
  commitMessage({ prompt: texts.map((text) => ({ type: "text", text })) });

describe("commitMessage()", () => {
  it("takes the first line as the title and the rest as the body", () => {
    assert.deepEqual(messageOf("Fix it\n\nThe test fails.", "See a.ts"), {
      title: "Fix it",
      body: "The test fails.\nSee a.ts",
    });
  });

  it("cuts a long title, and repeats the whole line in the body", () => {
    const line = "word ".repeat(30).trim();
    const { title, body } = messageOf(`${line}\nmore`);
    assert.equal(title.length, 72);
    assert.ok(title.endsWith("…"));
    assert.equal(body, `${line}\nmore`);
  });

  it("has no secret, not even half of one where the title is cut", () => {
    const token = `ghp_${"a1".repeat(18)}`;
    const { title, body } = messageOf(`${"word ".repeat(12)}${token} and ${"more ".repeat(9)}`);
    assert.doesNotMatch(title + body, /ghp_/);
    assert.match(title, /•••/);
  });

  it("has a title without control characters, even for a prompt without text", () => {
    assert.equal(messageOf("one\u001b[31m two").title, "one [31m two");
    assert.equal(commitMessage({ prompt: [{ type: "image" }] }).title, "Changes by an agent");
  });
});
