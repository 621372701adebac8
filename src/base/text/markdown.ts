// A small Markdown: what agents write, as data. Nothing of it ever becomes HTML text, so that markup in
// a message is shown and not run.

export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: readonly Inline[] }
  | { readonly kind: "paragraph"; readonly text: readonly Inline[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] }
  | { readonly kind: "list"; readonly start: number | undefined; readonly items: readonly Item[] }
  | {
      readonly kind: "table";
      readonly head: readonly Cell[];
      readonly rows: readonly (readonly Cell[])[];
    }
  | { readonly kind: "rule" };

export interface Item {
  /** Of a task list: whether it is done. */
  readonly done: boolean | undefined;
  readonly blocks: readonly Block[];
}

export type Cell = readonly Inline[];

export type Inline =
  | string
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "strong" | "emphasis" | "struck"; readonly text: readonly Inline[] }
  | { readonly kind: "link"; readonly url: string; readonly text: readonly Inline[] }
  | { readonly kind: "break" };

const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([^`\s]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const BULLET = /^(\s*)([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/;
const TASK = /^\[([ xX])\]\s+/;
/** Without space around it. Space is never matched by two neighbours, or many spaces would take hours. */
const TABLE_LINE = /^\|?\s*:?-+:?(?:\s*\|\s*:?-+:?)*\s*\|?$/;
/** Deeper ones are shown as text: a hostile message must not exhaust the stack. */
const MAX_DEPTH = 12;
/** Pairs of marks that are skipped to find the end of emphasis, for the same reason. */
const MAX_PAIRS = 20;

export function parseMarkdown(text: string): Block[] {
  return blocksOf(text.replaceAll("\r\n", "\n").split("\n"), 0);
}

/**
 * Whether a text is Markdown rather than plain output: only then has it a fence. Those of `~` do not count,
 * since compilers underline with it.
 */
export function hasFence(text: string): boolean {
  return /^ {0,3}```/m.test(text);
}

function blocksOf(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const flush = (): void => {
    if (paragraph.length > 0) {
      blocks.push({ kind: "paragraph", text: parseInline(paragraph.join("\n").trim()) });
    }
    paragraph = [];
  };
  const nested = (inner: readonly string[]): Block[] =>
    depth < MAX_DEPTH
      ? blocksOf(inner, depth + 1)
      : [{ kind: "paragraph", text: [inner.join("\n")] }];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const fence = FENCE.exec(line);
    if (fence !== null) {
      flush();
      const [, indent = "", marks = "", language = ""] = fence;
      const end = new RegExp(`^ {0,3}${marks[0] === "~" ? "~" : "`"}{${marks.length},}\\s*$`);
      const code: string[] = [];
      // The end of the fence is missing while the agent is still writing.
      for (at++; at < lines.length && !end.test(lines[at] ?? ""); at++) {
        code.push((lines[at] ?? "").replace(new RegExp(`^ {0,${indent.length}}`), ""));
      }
      blocks.push({ kind: "code", language, text: code.join("\n") });
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading !== null) {
      flush();
      const [, marks = "", title = ""] = heading;
      blocks.push({ kind: "heading", level: marks.length, text: parseInline(withoutMarks(title)) });
    } else if (RULE.test(line)) {
      flush();
      blocks.push({ kind: "rule" });
    } else if (/^ {0,3}>/.test(line)) {
      flush();
      const inner: string[] = [];
      for (; at < lines.length && /^ {0,3}>/.test(lines[at] ?? ""); at++) {
        inner.push((lines[at] ?? "").replace(/^ {0,3}> ?/, ""));
      }
      at--;
      blocks.push({ kind: "quote", blocks: nested(inner) });
    } else if (BULLET.test(line) && (paragraph.length === 0 || !/^\s*\d/.test(line))) {
      flush();
      const { items, start, next } = itemsFrom(lines, at);
      at = next - 1;
      blocks.push({
        kind: "list",
        start,
        items: items.map((inner) => {
          const task = TASK.exec(inner[0] ?? "");
          const rest =
            task === null ? inner : [(inner[0] ?? "").slice(task[0].length), ...inner.slice(1)];
          return { done: task === null ? undefined : task[1] !== " ", blocks: nested(rest) };
        }),
      });
    } else if (
      line.includes("|") &&
      (lines[at + 1] ?? "").includes("-") &&
      TABLE_LINE.test((lines[at + 1] ?? "").trim())
    ) {
      flush();
      const head = cellsOf(line);
      const rows: Cell[][] = [];
      for (at += 2; at < lines.length && (lines[at] ?? "").includes("|"); at++) {
        rows.push(cellsOf(lines[at] ?? ""));
      }
      at--;
      blocks.push({ kind: "table", head, rows });
    } else if (line.trim() === "") {
      flush();
    } else {
      paragraph.push(line);
    }
  }
  flush();
  return blocks;
}

/** The title without `#` marks at its end. */
function withoutMarks(title: string): string {
  const trimmed = title.trimEnd();
  let end = trimmed.length;
  while (trimmed[end - 1] === "#") end--;
  return trimmed.slice(0, end).trimEnd();
}

/** The items of a list, each as its lines without the indent. */
function itemsFrom(
  lines: readonly string[],
  from: number,
): { items: string[][]; start: number | undefined; next: number } {
  const [, outer = "", mark = ""] = BULLET.exec(lines[from] ?? "") ?? [];
  const isOrdered = /\d/.test(mark);
  const items: string[][] = [];
  let indent = 0;
  let at = from;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const lead = line.length - line.trimStart().length;
    const bullet = BULLET.exec(line);
    if (bullet !== null && lead <= outer.length + 1 && lead < Math.max(indent, 1 + outer.length)) {
      if (/\d/.test(bullet[2] ?? "") !== isOrdered) break;
      indent = lead + (bullet[2] ?? "").length + 1;
      items.push([bullet[4] ?? ""]);
      continue;
    }
    const isBlank = line.trim() === "";
    const following = lines[at + 1] ?? "";
    if (isBlank) {
      const continues = following.trim() !== "" && /^\s/.test(following);
      if (!continues && !BULLET.test(following)) break;
      items.at(-1)?.push("");
    } else if (lead >= Math.min(indent, outer.length + 2)) {
      items.at(-1)?.push(line.slice(Math.min(lead, indent)));
    } else if ((lines[at - 1] ?? "").trim() !== "" && !/^ {0,3}(?:#|>|```|~~~)/.test(line)) {
      items.at(-1)?.push(line.trim());
    } else {
      break;
    }
  }
  return { items, start: isOrdered ? Number.parseInt(mark, 10) : undefined, next: at };
}

function cellsOf(line: string): Cell[] {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => parseInline(cell.trim().replaceAll("\\|", "|")));
}

const DELIMITERS = [
  { mark: "**", kind: "strong" },
  { mark: "__", kind: "strong" },
  { mark: "~~", kind: "struck" },
  { mark: "*", kind: "emphasis" },
  { mark: "_", kind: "emphasis" },
] as const;

/** No part of it may hold the beginning of another: else a text full of brackets is read for each of them. */
const LINK =
  /^!?\[([^[\]\n]{0,1000})\]\([^\S\n]{0,9}<?([^\s)>[]{0,2000})>?(?:[^\S\n]{1,9}"[^"\n[]{0,500}")?[^\S\n]{0,9}\)/;
const ADDRESS = /^https?:\/\/[^\s<>"'`)\]]+[^\s<>"'`)\].,;:!?]/;
const SPECIAL = /[\\`*_~[!h\n<]/;

export function parseInline(text: string, depth = 0): Inline[] {
  const found: Inline[] = [];
  let plain = "";
  /** Where each mark is next from some place on, so that a text full of them is read once. */
  const next = new Map<string, { readonly from: number; readonly at: number }>();
  const push = (inline: Inline, length: number): number => {
    if (plain !== "") found.push(plain);
    plain = "";
    found.push(inline);
    return length;
  };
  const closer = (mark: string, from: number): number => {
    const known = next.get(mark);
    if (known !== undefined && known.from <= from && (known.at < 0 || from <= known.at)) {
      return known.at;
    }
    const at = text.indexOf(mark, from);
    next.set(mark, { from, at });
    return at;
  };
  /** The end of emphasis: `*` ends at a single mark, and `**` at the last two of three. */
  const closing = (mark: string, from: number): number => {
    const [char = ""] = mark;
    let end = closer(mark, from);
    if (mark.length === 2) return end >= 0 && text[end + 2] === char ? end + 1 : end;
    for (let pairs = 0; end >= 0 && text[end + 1] === char; pairs++) {
      if (pairs === MAX_PAIRS) return -1;
      end = closer(mark, end + (text[end + 2] === char ? 3 : 2));
    }
    return end;
  };
  const special = (at: number): number => {
    const char = text[at] ?? "";
    if (char === "\\" && /[\\`*_{}[\]()#+\-.!~|<>]/.test(text[at + 1] ?? "")) {
      plain += text[at + 1] ?? "";
      return 2;
    }
    if (char === "\n") {
      // Not in `plain`, which is all of the paragraph so far.
      const isBroken = text[at - 1] === "\\";
      if (!isBroken && !(text[at - 1] === " " && text[at - 2] === " ")) return 0;
      plain = isBroken ? plain.slice(0, -1) : plain.replace(/(?<! ) +$/, "");
      return push({ kind: "break" }, 1);
    }
    if (char === "`") {
      const [marks = "`"] = /^`+/.exec(text.slice(at, at + 32)) ?? [];
      const end = closer(marks, at + marks.length);
      if (end < 0) return 0;
      const code = text.slice(at + marks.length, end);
      const isPadded = code.startsWith(" ") && code.endsWith(" ") && code.trim() !== "";
      const shown = isPadded && !code.includes("\n") ? code.slice(1, -1) : code;
      return push({ kind: "code", text: shown }, end + marks.length - at);
    }
    if (depth >= MAX_DEPTH) return 0;
    if (char === "[" || (char === "!" && text[at + 1] === "[")) {
      if (closer("](", at) < 0) return 0;
      const link = LINK.exec(text.slice(at, at + 3600));
      const url = link === null ? undefined : safeUrl(link[2] ?? "");
      if (link === null || url === undefined) return 0;
      const inner = parseInline(link[1] === "" ? url : (link[1] ?? ""), depth + 1);
      return push({ kind: "link", url, text: inner }, link[0].length);
    }
    if (char === "h" || char === "<") {
      const from = char === "<" ? at + 1 : at;
      const isWord = char === "h" && /\w/.test(text[at - 1] ?? "");
      if (!text.startsWith("http", from)) return 0;
      const [url] = isWord ? [] : (ADDRESS.exec(text.slice(from, from + 2000)) ?? []);
      if (url === undefined) return 0;
      const length = char === "<" && text[from + url.length] === ">" ? url.length + 2 : url.length;
      return push(
        { kind: "link", url, text: [url] },
        char === "<" && length === url.length ? 0 : length,
      );
    }
    for (const { mark, kind } of DELIMITERS) {
      if (!text.startsWith(mark, at)) continue;
      const inner = at + mark.length;
      if (/\s/.test(text[inner] ?? " ")) continue;
      // snake_case is no emphasis.
      if (mark.startsWith("_") && /\w/.test(text[at - 1] ?? "")) continue;
      const end = closing(mark, inner + 1);
      if (end < 0 || /\s/.test(text[end - 1] ?? " ")) continue;
      if (mark.startsWith("_") && /\w/.test(text[end + mark.length] ?? "")) continue;
      const content = parseInline(text.slice(inner, end), depth + 1);
      return push({ kind, text: content }, end + mark.length - at);
    }
    return 0;
  };
  for (let at = 0; at < text.length;) {
    const char = text[at] ?? "";
    const length = SPECIAL.test(char) ? special(at) : 0;
    if (length === 0) plain += char;
    at += length === 0 ? 1 : length;
  }
  if (plain !== "") found.push(plain);
  return found;
}

/** Addresses that a click may open. Others, such as `javascript:`, stay text. */
function safeUrl(url: string): string | undefined {
  return /^(?:https?:\/\/|mailto:)/i.test(url) ? url : undefined;
}
