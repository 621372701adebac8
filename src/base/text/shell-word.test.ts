import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";

import { shellQuote, shellWord } from "./shell-word.ts";

const WORDS = [
  "",
  "plain",
  "/a/b-c.d",
  "it's",
  "a b",
  "$(id)",
  "`id`",
  "a\nb",
  "~",
  "*",
  "!x",
  "\\",
];

describe("shellWord() and shellQuote()", () => {
  it("are read by a shell as the text itself", () => {
    for (const quote of [shellWord, shellQuote]) {
      const script = `printf '%s\\0' ${WORDS.map(quote).join(" ")}`;
      const said = execFileSync("sh", ["-c", script], { encoding: "utf8" });
      assert.deepEqual(said.split("\0").slice(0, -1), WORDS);
    }
  });

  it("leave plain words as they are, or quote all", () => {
    assert.deepEqual([shellWord("--port=0"), shellWord("a b")], ["--port=0", "'a b'"]);
    assert.equal(shellQuote("plain"), "'plain'");
  });
});
