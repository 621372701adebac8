const BACKSLASH = 0x5c;

/** The index of the closing quote of the JSON string that opens at `from`; the text's length if none. */
export function endOfString(text: string, from: number): number {
  let at = text.indexOf('"', from + 1);
  while (at >= 0) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
    at = text.indexOf('"', at + 1);
  }
  return text.length;
}
