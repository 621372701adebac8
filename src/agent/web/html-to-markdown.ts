interface Page {
  readonly title: string;
  readonly markdown: string;
}

/** Elements that are left out, with all that is in them. */
const SKIPPED = new Set(
  "script style noscript template svg iframe object nav select button dialog".split(" "),
);

/**
 * Turns a page into Markdown for a model: headings, lists, links, code and tables stay, everything else
 * becomes plain text. The time that it takes grows with the length of the page, whatever is in it.
 */
export function htmlToMarkdown(html: string, base: URL): Page {
  const lower = html.toLowerCase();
  const writer = new MarkdownWriter(base);
  // An element without an end is looked for only once.
  const endless = new Set<string>();
  let title = "";
  const [from, to] = mainPart(lower);
  for (let at = from; at < to;) {
    const open = html.indexOf("<", at);
    if (open < 0 || open >= to) {
      writer.text(decodeEntities(html.slice(at, to)));
      break;
    }
    if (open > at) writer.text(decodeEntities(html.slice(at, open)));
    const end = endOfTag(html, open);
    if (end === undefined) {
      // A lone "<" in a text.
      writer.text("<");
      at = open + 1;
      continue;
    }
    at = end;
    const [, slash = "", name = ""] =
      /^<(\/?)([a-z][a-z0-9]*)/.exec(lower.slice(open, open + 20)) ?? [];
    const isOpening = slash === "";
    if (isOpening && (SKIPPED.has(name) || name === "title") && !endless.has(name)) {
      const close = lower.indexOf(`</${name}`, at);
      if (close < 0) endless.add(name);
      else {
        if (name === "title" && title === "") title = decodeEntities(html.slice(at, close)).trim();
        at = endOfTag(html, close) ?? close + name.length + 2;
      }
    } else if (isOpening) writer.open(name, html.slice(open, end));
    else writer.close(name);
  }
  const [, whole = ""] =
    title === "" ? (/<title[^<>]*>([^<]*)/i.exec(html.slice(0, 100_000)) ?? []) : [];
  return { title: title || decodeEntities(whole).trim(), markdown: writer.finish() };
}

/** The part that the page itself calls its main one, else all of it. */
function mainPart(lower: string): readonly [number, number] {
  for (const name of ["main", "article"]) {
    const from = lower.search(new RegExp(`<${name}[\\s>]`));
    const to = lower.lastIndexOf(`</${name}`);
    if (from >= 0 && to > from) return [from, to];
  }
  return [0, lower.length];
}

/** The index after a tag, comment or declaration; undefined where none begins. */
function endOfTag(html: string, open: number): number | undefined {
  if (html.startsWith("<!--", open)) {
    const end = html.indexOf("-->", open + 4);
    return end < 0 ? html.length : end + 3;
  }
  if (!/[a-zA-Z/!?]/.test(html[open + 1] ?? "")) return undefined;
  let quote = "";
  for (let at = open + 1; at < html.length; at++) {
    const character = html[at] as string;
    if (quote !== "") quote = character === quote ? "" : quote;
    else if (character === ">") return at + 1;
    else if ((character === '"' || character === "'") && html[at - 1] === "=") quote = character;
  }
  return html.length;
}

/** Elements that begin on a line of their own, and those with an empty line around them. */
const LINES = new Set("div section header footer aside figcaption dt dd form address".split(" "));
const PARAGRAPHS = new Set(
  "p ul ol dl table blockquote figure article main details summary pre hr".split(" "),
);
const MARKS: Readonly<Record<string, string>> = { strong: "**", b: "**", em: "*", i: "*" };
/** Deeper lists are shown as this deep. */
const DEEPEST = 10;
/** Further links are plain text. */
const MOST_LINKS = 5_000;

interface Link {
  readonly href: string;
  /** Number of pieces before its text. */
  readonly from: number;
}

/** Writes Markdown from the tags and texts of a page. */
class MarkdownWriter {
  readonly #base: URL;
  #pieces: string[] = [];
  #isAtStart = true;
  /** Line ends at the end of what was written. */
  #breaks = 2;
  readonly #lists: { isNumbered: boolean; count: number }[] = [];
  #link: Link | undefined;
  #links = 0;
  #isCode = false;

  constructor(base: URL) {
    this.#base = base;
  }

  text(text: string): void {
    if (this.#isCode) return this.#write(text);
    const plain = text.replaceAll(/[ \t\r\n\f]+/g, " ");
    const shown = this.#isAtStart ? plain.trimStart() : plain;
    if (shown !== "") this.#write(shown);
  }

  open(name: string, tag: string): void {
    const level = /^h([1-6])$/.exec(name)?.[1];
    if (level !== undefined) {
      this.#break(2);
      this.#mark(`${"#".repeat(Number(level))} `);
      return;
    }
    if (PARAGRAPHS.has(name) && !(this.#lists.length > 0 && name === "p")) {
      this.#break(this.#lists.length > 0 ? 1 : 2);
    } else if (LINES.has(name)) this.#break(1);
    switch (name) {
      case "br":
        return this.#break(1);
      case "hr":
        this.#mark("---");
        return this.#break(2);
      case "ul":
      case "ol":
        if (this.#lists.length < DEEPEST) this.#lists.push({ isNumbered: name === "ol", count: 0 });
        return;
      case "li":
        return this.#item();
      case "tr":
        this.#break(1);
        return this.#mark("| ");
      case "pre":
        this.#mark("```");
        this.#break(1);
        this.#isCode = true;
        return;
      case "a":
        return this.#openLink(attribute(tag, "href"));
      case "img":
        return this.#image(attribute(tag, "alt"));
      case "code":
        if (!this.#isCode) this.#write("`");
        return;
      default:
        if (!this.#isCode && MARKS[name] !== undefined) this.#write(MARKS[name]);
    }
  }

  close(name: string): void {
    if (/^h[1-6]$/.test(name)) return this.#break(2);
    switch (name) {
      case "ul":
      case "ol":
        this.#lists.pop();
        break;
      case "td":
      case "th":
        return this.#write(" | ");
      case "pre":
        if (!this.#isCode) return;
        this.#isCode = false;
        this.#break(1);
        this.#mark("```");
        break;
      case "a":
        return this.#closeLink();
      case "code":
        if (!this.#isCode) this.#write("`");
        return;
      default:
        if (!this.#isCode && MARKS[name] !== undefined) return this.#write(MARKS[name]);
    }
    if (PARAGRAPHS.has(name)) this.#break(this.#lists.length > 0 ? 1 : 2);
    else if (LINES.has(name) || name === "li" || name === "tr") this.#break(1);
  }

  finish(): string {
    if (this.#isCode) this.close("pre");
    const text = this.#pieces.join("");
    // Only from the first of many spaces: else each would be a start, and a megabyte of them take hours.
    return text
      .replaceAll(/(?<![ \t])[ \t]+\n/g, "\n")
      .replaceAll(/\n{3,}/g, "\n\n")
      .trim();
  }

  #write(text: string): void {
    this.#pieces.push(text);
    this.#isAtStart = /\s$/.test(text);
    this.#breaks = text.endsWith("\n") ? 1 : 0;
  }

  /** Writes what the text after it belongs to. */
  #mark(text: string): void {
    this.#write(text);
    this.#isAtStart = true;
  }

  #break(count: number): void {
    if (this.#isCode) return;
    const missing = count - this.#breaks;
    if (missing > 0) this.#pieces.push("\n".repeat(missing));
    this.#breaks = Math.max(count, this.#breaks);
    this.#isAtStart = true;
  }

  #item(): void {
    this.#break(1);
    const list = this.#lists.at(-1);
    const indent = "  ".repeat(Math.max(0, this.#lists.length - 1));
    const mark = list?.isNumbered === true ? `${++list.count}.` : "-";
    this.#mark(`${indent}${mark} `);
  }

  #openLink(href: string | undefined): void {
    if (this.#link !== undefined) this.#closeLink();
    if (href === undefined || ++this.#links > MOST_LINKS) return;
    const url = URL.parse(href, this.#base);
    const isPlain = url !== null && (url.protocol === "http:" || url.protocol === "https:");
    if (!isPlain || href.startsWith("#") || this.#isCode) return;
    this.#link = { href: url.href, from: this.#pieces.length };
  }

  #closeLink(): void {
    if (this.#link === undefined) return;
    const { href, from } = this.#link;
    this.#link = undefined;
    const text = this.#pieces.slice(from).join("").trim();
    if (text === "" || this.#isCode) return;
    this.#pieces.length = from;
    this.#write(`[${text.replaceAll(/(?<!\s)\s*\n\s*/g, " ")}](${href})`);
  }

  #image(alt: string | undefined): void {
    if (alt !== undefined && alt.trim() !== "") this.text(`(Image: ${alt.trim()})`);
  }
}

function attribute(tag: string, name: string): string | undefined {
  const found = new RegExp(`\\s${name}=(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "i").exec(tag);
  const value = found?.[1] ?? found?.[2] ?? found?.[3];
  return value === undefined ? undefined : decodeEntities(value).slice(0, 2_000);
}

/** The names that texts use; any character can be written as a number. */
const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  laquo: "«",
  raquo: "»",
  bull: "•",
  middot: "·",
  copy: "©",
  reg: "®",
  trade: "™",
  times: "×",
  deg: "°",
  euro: "€",
  rarr: "→",
  larr: "←",
  auml: "ä",
  ouml: "ö",
  uuml: "ü",
  szlig: "ß",
  eacute: "é",
};

/** HTML § Named character references. An unknown name stays as it is. */
function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,10}));?/g, decode);
}

function decode(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return Object.hasOwn(NAMED, name) ? (NAMED[name] as string) : whole;
  const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
  const isText = code >= 0x20 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isText || code === 9 || code === 10 ? String.fromCodePoint(code) : "�";
}
