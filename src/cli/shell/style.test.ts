import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, test } from "node:test";

import type { Output } from "./host.ts";
import { paint, terminalText, styleOf } from "./layout.ts";

function output(properties: { isTTY?: boolean; columns?: number } = {}): Output {
  return { ...properties, write: () => true, on: () => undefined };
}

const TERMINAL = output({ isTTY: true });
const PIPE = output();

test("styleOf() uses colours only in a terminal", () => {
  assert.equal(styleOf(TERMINAL, {}).color, true);
  assert.equal(styleOf(PIPE, {}).color, false);
  assert.equal(styleOf(TERMINAL, { TERM: "dumb" }).color, false);
});

test("styleOf() uses no colours with NO_COLOR, whatever else is set", () => {
  assert.equal(styleOf(TERMINAL, { NO_COLOR: "1" }).color, false);
  assert.equal(styleOf(TERMINAL, { NO_COLOR: "0" }).color, false);
  assert.equal(styleOf(TERMINAL, { NO_COLOR: "1", FORCE_COLOR: "1" }).color, false);
  assert.equal(styleOf(TERMINAL, { NO_COLOR: "" }).color, true);
});

test("styleOf() obeys FORCE_COLOR", () => {
  assert.equal(styleOf(PIPE, { FORCE_COLOR: "1" }).color, true);
  assert.equal(styleOf(PIPE, { FORCE_COLOR: "true" }).color, true);
  assert.equal(styleOf(PIPE, { FORCE_COLOR: "" }).color, false);
  assert.equal(styleOf(TERMINAL, { FORCE_COLOR: "0" }).color, false);
  assert.equal(styleOf(TERMINAL, { FORCE_COLOR: "false" }).color, false);
});

test("styleOf() uses the terminal's width, up to a maximum", () => {
  assert.equal(styleOf(PIPE, {}).width, 80);
  assert.equal(styleOf(output({ columns: 60 }), {}).width, 60);
  assert.equal(styleOf(output({ columns: 300 }), {}).width, 100);
  assert.equal(styleOf(output({ columns: 3 }), {}).width, 40);
  // What some terminals say when they do not know.
  assert.equal(styleOf(output({ columns: 0 }), {}).width, 80);
});

describe("terminalText()", () => {
  it("applies styles only to painted text", () => {
    const text = `${paint("red", "a\x1b[32mb", true)}\x1b[1mc\n`;
    assert.equal(terminalText(text), "\x1b[31ma\\u001b[32mb\x1b[39m\\u001b[1mc\n");
  });

  it("returns plain text without colours", () => {
    assert.equal(terminalText(paint("bold", "a", false)), "a");
  });

  it("is the only source of styles in the command line's code", () => {
    const folder = join(import.meta.dirname, "..");
    const files = globSync("**/*.ts", { cwd: folder }).filter((file) => !file.endsWith(".test.ts"));
    const writing = files.filter((file) => {
      return /\\x1b|\\u001b/i.test(readFileSync(`${folder}/${file}`, "utf8"));
    });
    assert.deepEqual(writing, ["shell/layout.ts"]);
  });
});
