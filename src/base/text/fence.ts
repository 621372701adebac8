/** The marks around a Markdown code block that shows a text unchanged: more than the text has in a row. */
export function fenceFor(text: string): string {
  let longest = 2;
  // One by one: a text may have more of them than a call can have arguments.
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return "`".repeat(longest + 1);
}
