import { mask } from "../../base/mask.ts";

const LONGEST = 2_000;
const MOST = 16_000;

/** Arguments as they are shown and stored: without secrets, and of a bounded size. */
export function shownInput(args: unknown): unknown {
  const shown = mask(cut(args));
  const size = JSON.stringify(shown)?.length ?? 0;
  return size <= MOST ? shown : { cut: `${size} characters` };
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
