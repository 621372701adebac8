const COMMENT = /^\s*(?:\/\/|\/\*|\*).*$/gm;

/**
 * Removes non-ASCII characters from comments: with a single one, the whole text takes twice the memory.
 * The bundler escapes them in code, but not in comments.
 */
export function withAsciiComments(code: string): string {
  const ascii = code.replace(COMMENT, (line) => line.replace(/[^\0-\x7f]/g, "?"));
  const other = /[^\0-\x7f]/.exec(ascii);
  if (other !== null)
    throw new Error(
      `Cannot make the code ASCII: it has ${other[0]} at ${other.index} outside of comments`,
    );
  return ascii;
}
