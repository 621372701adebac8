import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";

import { paint, painted } from "./paint.ts";

describe("painted()", () => {
  it("styles what was painted, and nothing else", () => {
    const text = `${paint("red", "a\x1b[32mb", true)}\x1b[1mc\n`;
    assert.equal(painted(text), "\x1b[31ma\\u001b[32mb\x1b[39m\\u001b[1mc\n");
  });

  it("leaves styles out where there are none", () => {
    assert.equal(painted(paint("bold", "a", false)), "a");
  });

  it("is the only way to a style: an escape that is written otherwise would be shown", () => {
    const folder = import.meta.dirname;
    const files = globSync("**/*.ts", { cwd: folder }).filter((file) => !file.endsWith(".test.ts"));
    const writing = files.filter((file) => {
      return /\\x1b|\\u001b/i.test(readFileSync(`${folder}/${file}`, "utf8"));
    });
    assert.deepEqual(writing, ["paint.ts"]);
  });
});
