import { mask, maskWords } from "../../base/text/mask.ts";
import { wholeFenced } from "../fenced.ts";
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
  return textContent(wholeFenced(JSON.stringify(maskWords(args), null, 2)));
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
