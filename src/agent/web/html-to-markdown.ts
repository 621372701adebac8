import { Parser } from "htmlparser2";

/** Elements that are left out, with all that is in them. */
const SKIPPED = new Set(
  "script style noscript template svg iframe object nav select button dialog".split(" "),
);

/** Elements within each other: at an end without a start, the parser looks through all that are open. */
const MOST_OPEN = 1_000;

/**
 * Turns a page into Markdown for a model: headings, lists, links, code and tables stay, everything else
 * becomes plain text. The time that it takes grows with the length of the page, whatever is in it.
 */
export function htmlToMarkdown(html: string, base: URL) {
  const writer = new MarkdownWriter(base);
  const [from, to] = mainPart(html);
  let title: string | undefined;
  let isTitle = false;
  let depth = 0;
  let skipped = 0;
  const isShown = (): boolean =>
    skipped === 0 && !isTitle && parser.startIndex >= from && parser.startIndex < to;
  const parser = new Parser({
    ontext: (text) => {
      if (isTitle && skipped === 0) title = (title ?? "") + text;
      else if (isShown()) writer.text(text);
    },
    onopentag: (name, attributes) => {
      if (++depth > MOST_OPEN) parser.pause();
      isTitle ||= name === "title" && title === undefined;
      if (SKIPPED.has(name)) skipped++;
      else if (isShown()) writer.open(name, attributes);
    },
    onclosetag: (name) => {
      depth--;
      if (SKIPPED.has(name)) skipped--;
      else if (name === "title") isTitle = false;
      else if (isShown()) writer.close(name);
    },
  });
  parser.end(html);
  return { title: title?.trim() ?? "", markdown: writer.finish() };
}

/** The part that the page itself calls its main one, else all of it. */
function mainPart(html: string): readonly [number, number] {
  const lower = html.toLowerCase();
  for (const name of ["main", "article"]) {
    const from = lower.search(new RegExp(`<${name}[\\s>]`));
    const to = lower.lastIndexOf(`</${name}`);
    if (from >= 0 && to > from) return [from, to];
  }
  return [0, lower.length];
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

/** Writes Markdown from the tags and texts of a page. */
class MarkdownWriter {
  readonly #base: URL;
  #pieces: string[] = [];
  #isAtStart = true;
  /** Line ends at the end of what was written. */
  #breaks = 2;
  readonly #lists: { isNumbered: boolean; count: number }[] = [];
  /** The open link, and the number of pieces before its text. */
  #link: { readonly href: string; readonly from: number } | undefined;
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

  open(name: string, { href, alt }: Readonly<Record<string, string>>): void {
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
        return this.#openLink(href);
      case "img":
        return this.#image(alt);
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
