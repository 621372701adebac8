import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";

import { LastWords } from "./stderr-log.ts";

function lastOf(text: string): string | undefined {
  const words = new LastWords();
  for (const line of text.trimEnd().split("\n")) words.add(line);
  return words.line;
}

describe("LastWords", () => {
  it("is the last line", () => {
    assert.equal(lastOf("TypeError: once, long ago\nthe disk is on fire"), "the disk is on fire");
    assert.equal(new LastWords().line, undefined);
  });

  for (const [program, expected] of Object.entries({
    "throw new TypeError('no such thing')": "TypeError: no such thing",
    "import('trunkline-no-such-package')": /^Error \[ERR_MODULE_NOT_FOUND\]: Cannot find package/,
  })) {
    it(`is the error of a Node that dies of: ${program}`, () => {
      const { stderr } = spawnSync(process.execPath, ["-e", program], { encoding: "utf8" });
      assert.match(lastOf(stderr) ?? "", new RegExp(expected));
    });
  }
});
