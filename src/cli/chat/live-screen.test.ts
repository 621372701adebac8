import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { terminalText } from "../shell/layout.ts";
import { LiveScreen } from "./live-screen.ts";
import {
  columnsOf,
  cutLine,
  type Line,
  line,
  lineText,
  span,
  wrapLine,
} from "../transcript/styled-line.ts";

function screen(columns = 20, rows = 6) {
  const written: string[] = [];
  const size = { columns, rows };
  const out = (text: string): void =>
    void written.push(terminalText(text).replaceAll("\x1b[", "<"));
  return { written, size, screen: new LiveScreen({ out, color: false, size: () => size }) };
}

describe("LiveScreen", () => {
  it("prints finished lines once, above a tail that is drawn again", () => {
    const { screen: one, written } = screen();
    one.draw([line("tail"), line("> ")], { row: 1, column: 2 });
    one.print([line("done")]);
    one.draw([line("tail"), line("> a")], { row: 1, column: 3 });
    assert.deepEqual(written, [
      "<?2026h<1G<2K<2G<J<1Gtail\n> <3G<?2026l",
      "<?2026h<1A<1G<2K<2G<J<1Gdone\ntail\n> a<4G<?2026l",
    ]);
  });

  it("writes nothing where nothing has changed", () => {
    const { screen: one, written } = screen();
    one.draw([line("> ")], { row: 0, column: 2 });
    one.draw([line("> ")], { row: 0, column: 2 });
    assert.equal(written.length, 1);
  });

  it("keeps the tail on the screen, and finds its top when the window became narrower", () => {
    const { screen: one, written, size } = screen();
    one.draw(
      Array.from({ length: 30 }, (_, at) => line(`row ${at} that is too long`)),
      { row: 29, column: 0 },
    );
    assert.equal(written[0]?.split("\n").length, 5);
    assert.match(written[0] ?? "", /row 25 that is too\u2026/);
    size.columns = 10;
    one.draw([line("> ")], { row: 0, column: 2 });
    assert.match(written[1] ?? "", /^<\?2026h<8A<1G/);
  });

  it("never passes on a control sequence of others", () => {
    const { screen: one, written } = screen(80);
    one.print([line("\x1b[2J\x9b1m\u202e")]);
    one.draw([[{ text: "\x1b]0;x\x07", styles: [] }]], { row: 0, column: 0 });
    assert.ok(
      written[0]?.includes("\\u001b[2J\\u009b1m\\u202e\n\\u001b]0;x\\u0007"),
      written.join(),
    );
  });
});

describe("styled lines", () => {
  it("count the columns of wide, combined and hidden characters", () => {
    assert.equal(columnsOf("abc\u2026"), 4);
    assert.equal(columnsOf("\u6f22\u5b57"), 4);
    assert.equal(columnsOf("e\u0301"), 1);
    assert.equal(columnsOf("\u{1f680}"), 2);
    assert.equal(columnsOf("\t"), 4);
  });

  it("are cut and wrapped within their width", () => {
    const text = (spans: Line): string => lineText(spans, false);
    assert.equal(text(cutLine([span("ab\u6f22\u5b57cd")], 5)), "ab\u6f22\u2026");
    assert.deepEqual(
      wrapLine(line("some words and averyveryverylongword"), 12, [span("  ")]).map(text),
      ["some words ", "  and ", "  averyveryv", "  erylongwor", "  d"],
    );
  });
});
