/**
 * A copy of a well-formed text that is stored for long. V8 makes a slice of a string refer to that
 * string: a few characters of a line would keep all that was read with it in memory.
 */
export function ownCopy(text: string): string {
  return Buffer.from(text).toString();
}
