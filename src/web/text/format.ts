import { attempt } from "../../base/attempt.ts";

/** Deeper JSON is shown in one line: its indentation would be far longer than the text. */
const MOST_LEVELS = 40;

/** JSON in lines. Throws where it is so deep that it cannot be written at all. */
export function prettyJson(value: unknown): string {
  const line = JSON.stringify(value);
  let level = 0;
  let deepest = 0;
  // Brackets in texts count, too: such JSON is shown in one line at worst.
  for (const char of line) {
    if (char === "[" || char === "{") deepest = Math.max(deepest, ++level);
    else if (char === "]" || char === "}") level--;
  }
  return deepest > MOST_LEVELS ? line : JSON.stringify(value, null, 2);
}

/** A text in lines; undefined where it is not JSON. */
export function prettyIn(text: string): string | undefined {
  return attempt(() => prettyJson(JSON.parse(text)));
}

/** How long ago, in one short word. */
export function ago(at: number, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 10) return "now";
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h`;
  const days = Math.floor(hours / 24);
  return days < 60 ? `${days} d` : `${Math.floor(days / 30)} mo`;
}

/** 1234 → "1.2k", for tokens and calls. */
export function short(count: number): string {
  if (count < 1000) return String(Math.round(count));
  if (count < 999_500) return `${trim(count / 1000)}k`;
  return `${trim(count / 1_000_000)}M`;
}

function trim(value: number): string {
  return value < 10 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}

export function money({ amount, currency }: { amount: number; currency: string }): string {
  const text = amount.toFixed(amount !== 0 && Math.abs(amount) < 0.995 ? 3 : 2);
  return currency === "USD" ? `$${text}` : `${text} ${currency}`;
}

export function milliseconds(value: number): string {
  if (value < 1000)
    return `${value < 10 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)} ms`;
  return value < 60_000 ? `${trim(value / 1000)} s` : `${trim(value / 60_000)} min`;
}

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  return count < 1_000_000 ? `${trim(count / 1000)} kB` : `${trim(count / 1_000_000)} MB`;
}

/** The clock time of today, with the date of another day. */
export function clock(at: number, now = Date.now()): string {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date(now).toDateString();
  const hours = time.toTimeString().slice(0, 8);
  return isToday ? hours : `${time.toISOString().slice(0, 10)} ${hours}`;
}

/** 1 file, 2 files */
export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** The path with its home folder shortened, as shells show it. */
export function shortPath(path: string): string {
  return path.replace(/^\/(?:home|Users)\/[^/]+/, "~").replace(/^\/root(?=\/|$)/, "~");
}
