import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { inCodeBlock, fencedBlock, fencedEnd, shownInput, wholeInput } from "./tool-runner.ts";

const TOKEN = `ghp_${"a1".repeat(18)}`;

describe("shownInput()", () => {
  it("hides secrets and shortens long texts, at any depth", () => {
    const shown = shownInput({ token: TOKEN, list: [{ text: "x".repeat(3_000) }], count: 3 });
    assert.doesNotMatch(JSON.stringify(shown), /ghp_/);
    const { list, count } = shown as { list: { text: string }[]; count: number };
    assert.equal(list[0]?.text, `${"x".repeat(2_000)}… (1000 characters more)`);
    assert.equal(count, 3);
  });

  it("shows only the size if there are too many small texts", () => {
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`key ${at}`, "v"]));
    assert.match(JSON.stringify(shownInput(many)), /^\{"cut":"\d+ characters"\}$/);
    assert.equal(shownInput(undefined), undefined);
  });
});

describe("wholeInput()", () => {
  it("leaves nothing out of a permission request", () => {
    const text = "x".repeat(50_000);
    assert.ok(JSON.stringify(wholeInput({ text })).includes(text));
  });
});

describe("inCodeBlock()", () => {
  it("uses a fence that the text cannot close early", () => {
    assert.equal(inCodeBlock("a"), "```\na\n```");
    assert.equal(inCodeBlock("```\na\n```"), "````\n```\na\n```\n````");
    assert.equal(fencedBlock("a\n"), "```\na\n```\n");
  });

  it("shows the end of a program's output", () => {
    const end = fencedEnd(`${"x".repeat(9_000)}last`);
    assert.match(end, /^```\n…x+last\n```$/);
    assert.ok(end.length < 8_100);
  });
});
