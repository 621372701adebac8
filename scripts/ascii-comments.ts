const COMMENT = /^\s*(?:\/\/|\/\*|\*).*$/gm;

/**
 * The same code in ASCII alone: one other letter, and the whole text takes twice the memory. The
 * bundler escapes them in code, but keeps them in comments.
 */
export function withAsciiComments(code: string): string {
  const ascii = code.replace(COMMENT, (line) => line.replace(/[^\0-\x7f]/g, "?"));
  const other = /[^\0-\x7f]/.exec(ascii);
  if (other !== null) throw new Error(`Cannot leave ${other[0]} at ${other.index} out of the code`);
  return ascii;
}
