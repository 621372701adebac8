/** A line without what a formatter changes in it: space and the kind of quotes. */
export function keyOf(line: string): string {
  return line.replace(/\s+/g, "").replace(/['`]/g, '"');
}

/** The words of consecutive lines, each with the index of its line. */
export interface LineWords {
  readonly words: readonly string[];
  readonly lines: readonly number[];
}

/** Letters and digits are one word, every other character is one too. */
const WORD = /[\p{L}\p{N}_$]+|[^\s'"`;,()]/gu;
/** The same for ASCII. To compile the other one takes longer than to find the words of many lines. */
const ASCII_WORD = /[A-Za-z0-9_$]+|[^\s'"`;,()]/g;
const NOT_ASCII = /[\u0080-\uffff]/;
/** The marks around a line of a comment, which re-wrapping moves to other words. */
const MARK = /^\s*(?:\/\/+|\/?\*+\/?(?=\s|$)|#+(?=\s|$))|\*+\/\s*$/g;

/** The words of lines. Characters that a formatter adds and removes are left out. */
export function lineWords(lines: readonly string[]): LineWords {
  const words: string[] = [];
  const of: number[] = [];
  for (const [at, line] of lines.entries()) {
    const pattern = NOT_ASCII.test(line) ? WORD : ASCII_WORD;
    for (const word of line.replace(MARK, "").match(pattern) ?? []) {
      words.push(word);
      of.push(at);
    }
  }
  return { words, lines: of };
}
