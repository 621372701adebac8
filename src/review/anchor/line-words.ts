/** A line without what a formatter changes in it: space and the kind of quotes. */
export function keyOf(line: string): string {
  return line.replace(/\s+/g, "").replace(/['`]/g, '"');
}

/** The words of consecutive lines, each with the index of its line. */
export interface LineWords {
  readonly words: readonly string[];
  readonly lines: readonly number[];
}

/**
 * Letters and digits are one word, every other character is one too. The pattern is made when it is needed:
 * it costs a start half a millisecond, and to compile it takes longer than to find the words of many lines.
 */
const wordPattern = (): RegExp => (madePattern ??= /[\p{L}\p{N}_$]+|[^\s'"`;,()]/gu);
let madePattern: RegExp | undefined;
/** The same for ASCII. */
const ASCII_WORD = /[A-Za-z0-9_$]+|[^\s'"`;,()]/g;
const NOT_ASCII = /[\u0080-\uffff]/;
/**
 * The marks around a line of a comment, which re-wrapping moves to other words. Of many stars, only the
 * first begins a mark: looking from each of them would take minutes for a line of a megabyte.
 */
const MARK = /^\s*(?:\/\/+|\/?\*+\/?(?=\s|$)|#+(?=\s|$))|(?<!\*)\*+\/\s*$/g;

/** The words of lines. Characters that a formatter adds and removes are left out. */
export function lineWords(lines: readonly string[]): LineWords {
  const words: string[] = [];
  const of: number[] = [];
  // By index: an iterator makes an object for each word, and there are thousands.
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const pattern = NOT_ASCII.test(line) ? wordPattern() : ASCII_WORD;
    const found = line.replace(MARK, "").match(pattern) ?? [];
    for (let n = 0; n < found.length; n++) {
      words.push(found[n] ?? "");
      of.push(at);
    }
  }
  return { words, lines: of };
}
