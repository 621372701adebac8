const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** If this many searches advance less than this, the next characters are read one by one. */
const SEARCHES = 64;
const DENSE = 16 * SEARCHES;
const WHILE = 4096;

/** The index of the closing quote of the JSON string that opens at `from`; the text's length if none. */
export function endOfString(text: string, from: number): number {
  // Always between two characters, never inside of an escape.
  let at = from + 1;
  let mark = at;
  for (let searches = 1; ; searches++) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    if (quote === at || text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
    // Behind one backslash the quote is escaped; behind more it depends on how many they are.
    const isPlain = text.charCodeAt(quote - 2) !== BACKSLASH;
    at = skipTo(text, isPlain ? quote - 1 : at, quote + 1);
    if (searches % SEARCHES > 0) continue;
    if (at - mark < DENSE) at = skipTo(text, at, at + WHILE);
    mark = at;
  }
}

/** Goes on by whole characters, up to `to` or a closing quote. */
function skipTo(text: string, from: number, to: number): number {
  let at = from;
  while (at < to) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) return at;
    at += c === BACKSLASH ? 2 : 1;
  }
  return at;
}

/** Differs in every process, so that nobody can place escapes between the samples. */
const SEED = Math.floor(Math.random() * 2 ** 32);

/** Estimates the number of escapes in a text from one in 128 of its characters. */
export function estimateEscapes(text: string, seed = SEED): number {
  let chance = seed;
  let looks = 0;
  let backslashes = 0;
  for (let at = 0; at < text.length; at += 1 + (chance >>> 24)) {
    chance = (Math.imul(chance, 1_664_525) + 1_013_904_223) | 0;
    if (text.charCodeAt(at) === BACKSLASH) backslashes++;
    looks++;
  }
  return looks === 0 ? 0 : (backslashes / looks) * text.length;
}
