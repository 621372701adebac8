import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { codeBlock, inert } from "./inert-text.ts";

/** The patterns that forges search text for, according to their documentation. */
const READ = [
  /(?<!\p{L})@[a-z0-9]/iu,
  /#\d/,
  /[!&%~$][\w"]/,
  /GH-\d/i,
  /[A-Z][A-Z0-9]+-\d/,
  /https?:\/\//,
  /^\s*\/\w/m,
];

describe("inert()", () => {
  it("contains nothing that a forge acts on, and looks the same", () => {
    const hostile = [
      "Fixes #1 and closes acme/app#2, GH-3, JIRA-4",
      "@acme/admins, @ada: look",
      "resolves https://github.com/acme/app/issues/5",
      '!6 &7 %8 ~bug ~"two words" $9',
      "/merge",
      "  /approve",
      "/assign @eve",
    ].join("\n");
    const text = inert(hostile);
    for (const pattern of READ) {
      assert.match(hostile, pattern, "the sample has it");
      assert.doesNotMatch(text, pattern);
    }
    assert.equal(text.replaceAll("\u2060", ""), hostile);
  });

  it("does not change ordinary text", () => {
    const plain = "Mend the test (100% done): a/b.ts, c & d – 3 × 4!";
    assert.equal(inert(plain), plain);
  });

  it("removes invisible characters", () => {
    assert.equal(inert("a\u202eb\u001b[2J\rc\u2028d"), "a b [2J c d");
  });

  it("takes no longer for a text of empty lines", () => {
    const lines = "\n".repeat(1_000_000);
    assert.equal(inert(`${lines}x`), `${lines}x`);
    assert.equal(inert(`${lines} /merge`), `${lines} \u2060/merge`);
  });
});

describe("codeBlock()", () => {
  it("cannot be closed by its content", () => {
    const block = codeBlock("a\n```\n# Title\n`````\nb");
    const [fence = "", ...rest] = block.split("\n");
    assert.match(fence, /^`{6}text$/);
    assert.equal(rest.at(-1), "``````");
    assert.equal(rest.slice(0, -1).filter((line) => /^`{6,}/.test(line)).length, 0);
  });
});
