const MOST_SHOWN = 8_000;

/** What a program said, as text that people read: its end, as it is. */
export function fenced(text: string): string {
  const shown = text.length > MOST_SHOWN ? `…${text.slice(-MOST_SHOWN)}` : text;
  const fence = "`".repeat(Math.max(3, ...(shown.match(/`+/g) ?? []).map((run) => run.length + 1)));
  return `${fence}\n${shown}\n${fence}`;
}
