import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseCommand } from "./session-commands.ts";

describe("parseCommand()", () => {
  for (const [text, command] of [
    ["/help", { name: "help", input: "" }],
    ["  /Fix-Comments r1  r2 \n", { name: "fix-comments", input: "r1  r2" }],
    ["/commit First line\n\nSecond", { name: "commit", input: "First line\n\nSecond" }],
    ["/search /a b/", { name: "search", input: "/a b/" }],
    ["/usr/bin/env is what?", undefined],
    ["/ help", undefined],
    ["/", undefined],
    ["/2do", undefined],
    ["see /help", undefined],
    ["", undefined],
  ] as const) {
    it(`takes ${JSON.stringify(text)} for ${command === undefined ? "no command" : command.name}`, () => {
      assert.deepEqual(parseCommand(text), command);
    });
  }
});
