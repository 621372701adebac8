import { type Block, type Inline, parseMarkdown } from "../../base/text/markdown.ts";
import type { StyleName } from "../shell/layout.ts";
import { cutLine, type Line, lineColumns, type Span, span, wrapLine } from "./styled-line.ts";

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** A line that may continue the block before an empty line: an indented one, or an item of a list. */
const CONTINUES = /^(?:\s|[-*+]\s|\d{1,9}[.)]\s|>)/;
/** Characters of a block after which its lines are printed without waiting for its end. */
const LONGEST_BLOCK = 8_000;

/** Markdown that arrives piece by piece: blocks that have ended, and the one that is being written. */
export class MarkdownStream {
  #text = "";
  #hasPrinted = false;
  /** The cached result of `live`: frames are drawn more often than text arrives. */
  #drawn: { readonly key: string; readonly lines: Line[] } | undefined;

  /** Takes the next piece. Returns the lines of blocks that have ended. */
  write(piece: string, width: number): Line[] {
    this.#text += piece.replaceAll("\r\n", "\n");
    // Only the end of a line ends a block.
    if (!piece.includes("\n") && this.#text.length < 4 * LONGEST_BLOCK) return [];
    const end = endOfBlocks(this.#text);
    if (end === undefined) return [];
    const done = this.#text.slice(0, end.at);
    this.#text = end.reopens + this.#text.slice(end.at);
    return this.#lines(done + end.closes, width);
  }

  /** The block that is being written. */
  live(width: number): Line[] {
    const key = `${width} ${this.#text}`;
    if (this.#drawn?.key !== key) this.#drawn = { key, lines: this.#shown(this.#text, width) };
    return this.#drawn.lines;
  }

  /** The rest, when nothing more comes. */
  end(width: number): Line[] {
    const rest = this.#text;
    this.#text = "";
    const lines = this.#lines(rest, width);
    this.#hasPrinted = false;
    return lines;
  }

  #lines(text: string, width: number): Line[] {
    const lines = this.#shown(text, width);
    if (lines.length > 0) this.#hasPrinted = true;
    return lines;
  }

  #shown(text: string, width: number): Line[] {
    const lines = markdownLines(text, width);
    return this.#hasPrinted && lines.length > 0 ? [[], ...lines] : lines;
  }
}

/** Where the last block that is complete ends; a long code block is cut into several. */
function endOfBlocks(
  text: string,
): { readonly at: number; readonly closes: string; readonly reopens: string } | undefined {
  let fence = "";
  let opening = "";
  let end = 0;
  let from = 0;
  let isAfterBlank = false;
  while (from < text.length) {
    const to = text.indexOf("\n", from);
    // The last line may still become anything.
    if (to < 0) break;
    const each = text.slice(from, to);
    const marks = FENCE.exec(each)?.[1] ?? "";
    if (fence !== "") {
      if (marks.startsWith(fence) && each.trim() === marks) {
        fence = "";
        end = to + 1;
      }
    } else {
      if (isAfterBlank && each.trim() !== "" && !CONTINUES.test(each)) end = from;
      if (marks !== "") {
        fence = marks;
        opening = each;
      }
    }
    isAfterBlank = fence === "" && each.trim() === "";
    from = to + 1;
  }
  if (end > 0) return { at: end, closes: "", reopens: "" };
  if (from < LONGEST_BLOCK && text.length < 4 * LONGEST_BLOCK) return undefined;
  if (fence !== "") return { at: from, closes: fence, reopens: `${opening}\n` };
  return { at: from === 0 ? text.length : from, closes: "", reopens: "" };
}

export function markdownLines(text: string, width: number): Line[] {
  return blockLines(parseMarkdown(text), width);
}

function blockLines(blocks: readonly Block[], width: number): Line[] {
  return blocks.flatMap((block, at) => {
    const lines = linesOfBlock(block, width);
    return at === 0 ? lines : [[], ...lines];
  });
}

function linesOfBlock(block: Block, width: number): Line[] {
  switch (block.kind) {
    case "heading":
      return wrapLine(
        spansOf(block.text, block.level === 1 ? ["bold", "underline"] : ["bold"]),
        width,
      );
    case "paragraph":
      return paragraph(block.text, width);
    case "code":
      // Not broken, so that it can be copied: the terminal breaks what is too long.
      return colorCode(block.text, block.language).map((each) => [span("  "), ...each]);
    case "quote":
      return blockLines(block.blocks, width - 2).map((each) => [span("\u2502 ", "dim"), ...each]);
    case "list": {
      const { items, start } = block;
      const wide = start === undefined ? 2 : String(start + items.length).length + 2;
      return items.flatMap(({ done, blocks }, at) => {
        const mark = start === undefined ? "\u2022 " : `${start + at}. `;
        const box = done === undefined ? "" : done ? "[x] " : "[ ] ";
        const inner = tightLines(blocks, width - wide - box.length);
        const lead = span(mark.padEnd(wide), "cyan");
        const indent = span(" ".repeat(wide + box.length));
        return inner.map((each, row) =>
          row === 0 ? [lead, span(box), ...each] : [indent, ...each],
        );
      });
    }
    case "table":
      return tableLines(block, width);
    case "rule":
      return [[span("\u2500".repeat(Math.min(width, 40)), "dim")]];
  }
}

/** The blocks of an item, without empty lines between a text and the list below it. */
function tightLines(blocks: readonly Block[], width: number): Line[] {
  const lines = blocks.flatMap((block, at) => {
    const isApart = at > 0 && block.kind !== "list";
    return isApart ? [[], ...linesOfBlock(block, width)] : linesOfBlock(block, width);
  });
  return lines.length === 0 ? [[]] : lines;
}

function paragraph(text: readonly Inline[], width: number): Line[] {
  const lines: Line[] = [];
  let now: Span[] = [];
  for (const each of spansOf(text, [])) {
    if (each.text !== BREAK) now.push(each);
    else {
      lines.push(...wrapLine(now, width));
      now = [];
    }
  }
  return [...lines, ...wrapLine(now, width)];
}

/** Stands for the end of a line within a paragraph. No visible text has it. */
const BREAK = "\n";

function spansOf(text: readonly Inline[], styles: readonly StyleName[]): Span[] {
  return text.flatMap((each): Span[] => {
    if (typeof each === "string") {
      // A line end within a paragraph stays: agents mean it.
      return each.split("\n").flatMap((part, at) => {
        const said = span(part, ...styles);
        return at === 0 ? [said] : [{ text: BREAK, styles }, said];
      });
    }
    switch (each.kind) {
      case "code":
        return [span(each.text.replaceAll("\n", " "), ...styles, "cyan")];
      case "strong":
        return spansOf(each.text, [...styles, "bold"]);
      case "emphasis":
        return spansOf(each.text, [...styles, "italic"]);
      case "struck":
        return spansOf(each.text, [...styles, "strikethrough"]);
      case "break":
        return [{ text: BREAK, styles }];
      case "link": {
        // The address is always seen: what a link says need not be where it leads.
        const said = spansOf(each.text, [...styles, "underline"]);
        const isBare = said.map(({ text: shown }) => shown).join("") === each.url;
        return isBare ? said : [...said, span(` (${each.url})`, "dim")];
      }
    }
  });
}

type Table = Extract<Block, { kind: "table" }>;

/** A table whose columns share the width; what is too long is broken within its cell. */
function tableLines({ head, rows }: Table, width: number): Line[] {
  const count = Math.max(head.length, ...rows.map((row) => row.length));
  const cells = [head, ...rows].map((row, at) =>
    Array.from({ length: count }, (_, column) =>
      spansOf(row[column] ?? [], at === 0 ? ["bold"] : []).filter(({ text }) => text !== BREAK),
    ),
  );
  const room = width - 3 * (count - 1);
  const wanted = Array.from({ length: count }, (_, column) =>
    Math.max(3, ...cells.map((row) => lineColumns(row[column] ?? []))),
  );
  // Narrower than this, a table says less than its cells below each other.
  if (room < count * 6 && wanted.reduce((sum, each) => sum + each, 0) > room)
    return recordLines(cells, width);
  const widths = shares(wanted, room);
  const drawn = cells.flatMap((row, at) => {
    const wrapped = row.map((cell, column) => wrapLine(cell, widths[column] ?? 3));
    const height = Math.max(...wrapped.map((lines) => lines.length));
    const lines = Array.from({ length: height }, (_, line) =>
      wrapped.flatMap((cell, column) => {
        const part = cutLine(cell[line] ?? [], widths[column] ?? 3);
        const fill = " ".repeat(Math.max(0, (widths[column] ?? 3) - lineColumns(part)));
        const edge = column === count - 1 ? [] : [span(`${fill} \u2502 `, "dim")];
        return [...part, ...edge];
      }),
    );
    const rule = widths.map((each) => "\u2500".repeat(each)).join("\u2500\u253c\u2500");
    return at === 0 ? [...lines, [span(rule, "dim")]] : lines;
  });
  return drawn;
}

/** Widths that fit the room: narrow columns get what they want, wide ones share the rest. */
function shares(wanted: readonly number[], room: number): number[] {
  let left = room;
  let open = wanted.length;
  const widths: number[] = wanted.map(() => 0);
  for (const [column, want] of [...wanted.entries()].toSorted(([, a], [, b]) => a - b)) {
    const share = Math.max(3, Math.min(want, Math.floor(left / open)));
    widths[column] = share;
    left -= share;
    open--;
  }
  return widths;
}

/** A table in a narrow window: each row as its cells, with their headings. */
function recordLines(cells: readonly (readonly Line[])[], width: number): Line[] {
  const [head = [], ...rows] = cells;
  return rows.flatMap((row, at) => {
    const lines = row.flatMap((cell, column) => {
      const name = head[column] ?? [];
      return wrapLine([...name, span(name.length === 0 ? "" : ": "), ...cell], width, [span("  ")]);
    });
    return at === 0 ? lines : [[], ...lines];
  });
}

/** Words that most languages share, or that stand out in one. */
const KEYWORDS = new Set(
  (
    "abstract and as assert async await begin break case catch class const continue def default defer del do " +
    "done elif else end enum except export extends false fi final finally fn for foreach from func function " +
    "go goto if impl implements import in instanceof interface is lambda let local loop match mod module move " +
    "mut namespace new nil none not null or package pass private protected pub public raise readonly ref " +
    "return select self static struct super switch then this throw throws trait true try type typeof " +
    "undefined union unless unsafe until use using val var void when where while with yield"
  ).split(" "),
);
/** Of SQL too, which people write in capitals. */
const SQL = new Set(["sql", "postgres", "postgresql", "mysql", "sqlite", "plsql"]);
const SQL_WORDS = new Set(
  (
    "add all alter and as asc begin between by case commit create cross default delete desc distinct drop " +
    "else end exists foreign from full group having if in index inner insert into is join key left like limit " +
    "not null on or order outer primary references right rollback select set table then union unique update " +
    "using values view when where with"
  ).split(" "),
);
const HASH_COMMENTS =
  /^(?:bash|sh|zsh|fish|shell|console|py|python|rb|ruby|yaml|yml|toml|ini|conf|perl|pl|r|make|makefile|dockerfile|docker|elixir|ex|nix|tcl|awk|cmake|properties|env)$/;
const DASH_COMMENTS = /^(?:sql|postgres|postgresql|mysql|sqlite|plsql|lua|haskell|hs|elm|ada)$/;
/** A string ends on its line: an apostrophe in prose must not colour the rest of the block. */
const STRING = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\u0060(?:[^\u0060\\\n]|\\.)*\u0060`;
const NUMBER = String.raw`\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\b`;
const WORD = String.raw`[A-Za-z_$][\w$]*`;

/** Characters of a line beyond which it is not coloured. */
const LONGEST = 500;

/** Code with its comments, strings, numbers and keywords in colour, line by line. */
export function colorCode(code: string, language: string): Line[] {
  const name = language.toLowerCase();
  if (name === "diff" || name === "patch") return code.split("\n").map(diffLine);
  const comment = HASH_COMMENTS.test(name)
    ? "#.*"
    : DASH_COMMENTS.test(name)
      ? "--.*"
      : String.raw`//.*|/\*.*?(?:\*/|$)|^\s*\*(?:\s.*|/)?$`;
  const words = SQL.has(name) ? SQL_WORDS : KEYWORDS;
  const token = new RegExp(`(${comment})|(${STRING})|(${NUMBER})|(${WORD})`, "g");
  return code.split("\n").map((each) => {
    if (each.length > LONGEST || name === "" || name === "text") return [span(each)];
    const spans = [];
    let at = 0;
    for (const found of each.matchAll(token)) {
      const [text, said, quoted, number, word] = found;
      const isKeyword =
        word !== undefined && words.has(words === SQL_WORDS ? word.toLowerCase() : word);
      if (word !== undefined && !isKeyword) continue;
      if (found.index > at) spans.push(span(each.slice(at, found.index)));
      if (said !== undefined) spans.push(span(text, "dim"));
      else if (quoted !== undefined) spans.push(span(text, "green"));
      else if (number !== undefined) spans.push(span(text, "yellow"));
      else spans.push(span(text, "magenta"));
      at = found.index + text.length;
    }
    if (at < each.length || spans.length === 0) spans.push(span(each.slice(at)));
    return spans;
  });
}

/** A line of a diff in the colour of its mark. */
export function diffLine(text: string): Line {
  if (text.startsWith("+")) return [span(text, "green")];
  if (text.startsWith("-")) return [span(text, "red")];
  return [span(text, text.startsWith("@@") ? "cyan" : "dim")];
}
