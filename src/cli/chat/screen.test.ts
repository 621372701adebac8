import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { painted } from "../shell/layout.ts";
import { Screen } from "./ask-once.ts";

const ERASED = "\x1b[1G\x1b[2K";

function screen(isTerminal = true) {
  const written: string[] = [];
  const options = { isTerminal, color: false, width: () => 10 };
  return {
    written,
    screen: new Screen({ ...options, out: (text) => written.push(painted(text)) }),
  };
}

describe("Screen", () => {
  it("erases the status before anything else is printed", () => {
    const { screen: one, written } = screen();
    one.status("working");
    one.status("a status that is too long");
    one.print("answer\n");
    one.print("more\n");
    assert.deepEqual(written, ["working", `${ERASED}a status `, ERASED, "answer\n", "more\n"]);
  });

  it("shows no status inside a line, nor where there is no terminal", () => {
    const { screen: one, written } = screen();
    one.print("half a line");
    one.status("working");
    one.clearStatus();
    assert.deepEqual(written, ["half a line"]);
    const other = screen(false);
    other.screen.status("working");
    assert.deepEqual(other.written, []);
  });
});
