/** The list or object that a text is; undefined for any other text. */
export function jsonIn(text: unknown): object | undefined {
  if (typeof text !== "string" || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    // It only begins like JSON.
    return undefined;
  }
}
