import { decodeEntities } from "./html-entities.ts";
import { MarkdownWriter } from "./markdown-writer.ts";

export interface Page {
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
