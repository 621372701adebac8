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
/** The marks around a line of a comment, which re-wrapping moves to other words. */
const MARK = /^\s*(?:\/\/+|\/?\*+\/?(?=\s|$)|#+(?=\s|$))|\*+\/\s*$/g;

/** The words of lines. Characters that a formatter adds and removes are left out. */
export function lineWords(lines: readonly string[]): LineWords {
  const words: string[] = [];
  const of: number[] = [];
  for (const [at, line] of lines.entries()) {
    for (const word of line.replace(MARK, "").match(WORD) ?? []) {
      words.push(word);
      of.push(at);
    }
  }
  return { words, lines: of };
}
