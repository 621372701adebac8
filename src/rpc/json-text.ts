const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** So many quotes are searched for one by one, and more while they stand this far apart. */
const FREE_SEARCHES = 64;
const DENSE = 16;

/** Hears what strings hold that makes them slow to read: escaped quotes, and the escapes by them. */
export interface StringTally {
  escapes: number;
}

/** The index of the closing quote of the JSON string that opens at `from`; the text's length if none. */
export function endOfString(text: string, from: number, tally?: StringTally): number {
  let escapes = 0;
  let at = text.indexOf('"', from + 1);
  for (let searches = 1; at >= 0; searches++) {
    const slashes = slashesBefore(text, at);
    escapes += (slashes + 1) >> 1;
    if (slashes % 2 === 0) break;
    if ((searches - FREE_SEARCHES) * DENSE > at - from) return scanString(text, at + 1, tally);
    at = text.indexOf('"', at + 1);
  }
  if (tally !== undefined) tally.escapes += escapes;
  return at < 0 ? text.length : at;
}

function slashesBefore(text: string, at: number): number {
  let slashes = 0;
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
  return slashes;
}

/** One look at each character: a search for each of a million quotes would take far longer. */
function scanString(text: string, from: number, tally?: StringTally): number {
  let escapes = 0;
  let at = from;
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) break;
    if (c === BACKSLASH) {
      escapes++;
      at++;
    }
  }
  if (tally !== undefined) tally.escapes += escapes;
  return Math.min(at, text.length);
}
