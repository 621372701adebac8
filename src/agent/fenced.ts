const MOST_SHOWN = 8_000;

/** What a program said, as text that people read: its end, as it is. */
export function fenced(text: string): string {
  return wholeFenced(text.length > MOST_SHOWN ? `…${text.slice(-MOST_SHOWN)}` : text);
}

/** Text as it is, all of it. */
export function wholeFenced(text: string): string {
  const runs = text.match(/`+/g) ?? [];
  const fence = "`".repeat(runs.reduce((most, { length }) => Math.max(most, length + 1), 3));
  return `${fence}\n${text}\n${fence}`;
}
