import { mask, maskWords } from "../../base/text/mask.ts";
import { type ShownContent, textContent } from "./agent-tool.ts";

const LONGEST = 2_000;
const MOST = 16_000;

/** Arguments as they are shown and stored: without secrets, and of a bounded size. */
export function shownInput(args: unknown): unknown {
  const shown = mask(cut(args));
  const size = JSON.stringify(shown)?.length ?? 0;
  return size <= MOST ? shown : { cut: `${size} characters` };
}

/** Arguments as a person is asked about them: all of them, one beside the other. */
export function wholeInput(args: unknown): ShownContent {
  return textContent(fenced(JSON.stringify(maskWords(args), null, 2)));
}

function cut(value: unknown): unknown {
  if (typeof value === "string") {
    return value.length <= LONGEST
      ? value
      : `${value.slice(0, LONGEST)}… (${value.length} characters)`;
  }
  if (Array.isArray(value)) return value.map(cut);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cut(item)]));
}

const MOST_SHOWN = 8_000;

/** What a program said, as text that people read: its end, as it is. */
export function fencedEnd(text: string): string {
  return fenced(text.length > MOST_SHOWN ? `…${text.slice(-MOST_SHOWN)}` : text);
}

/** Text as it is, all of it. */
export function fenced(text: string): string {
  const runs = text.match(/`+/g) ?? [];
  const fence = "`".repeat(runs.reduce((most, { length }) => Math.max(most, length + 1), 3));
  return `${fence}\n${text}\n${fence}`;
}

/** Text in Markdown as a paragraph of its own. */
export function fencedBlock(text: string): string {
  return `${fenced(text.replace(/\n$/, ""))}\n`;
}
