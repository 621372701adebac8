import { fenceFor } from "../../base/text/fence.ts";
import { mask, maskWords } from "../../base/text/mask.ts";
import { type ShownContent, textContent } from "./agent-tool.ts";

const LONGEST = 2_000;
const MOST = 16_000;

/** Arguments to show and store: without secrets, and shortened. */
export function shownInput(args: unknown): unknown {
  const shown = mask(cut(args));
  const size = JSON.stringify(shown)?.length ?? 0;
  return size <= MOST ? shown : { cut: `${size} characters` };
}

/** All arguments, for a request for consent. */
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

/** The end of a program's output as a Markdown code block. */
export function fencedEnd(text: string): string {
  return fenced(text.length > MOST_SHOWN ? `…${text.slice(-MOST_SHOWN)}` : text);
}

/** A text as a Markdown code block. */
export function fenced(text: string): string {
  const fence = fenceFor(text);
  return `${fence}\n${text}\n${fence}`;
}

/** A code block with a line end after it. */
export function fencedBlock(text: string): string {
  return `${fenced(text.replace(/\n$/, ""))}\n`;
}
