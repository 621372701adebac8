/** An invisible character that joins words: no forge reads a name or a number across it. */
const JOINER = "\u2060";

/**
 * Text of others as data, for titles and descriptions of requests: people look the same at it, and
 * a forge does nothing with it. It mentions nobody (`@team`), refers to nothing (`#1`, `!1`,
 * `GH-1`, addresses of issues), and so closes nothing, whatever word stands before.
 */
export function inert(text: string): string {
  return (
    text
      // What is not seen, but for line ends.
      .replaceAll(/[^\P{Cc}\n]|\p{Cf}|[\u2028\u2029]/gu, " ")
      .replaceAll(/([@#!&%~$])(?=[\p{L}\p{N}_"[])/gu, `$1${JOINER}`)
      .replaceAll(/\b(gh)-(?=\d)/gi, `$1${JOINER}-`)
      // `ABC-1` is an issue of Jira's, to which GitLab and Gitea can be connected.
      .replaceAll(/\b([A-Z][A-Z0-9_]+)-(?=\d)/g, `$1${JOINER}-`)
      .replaceAll("://", `:${JOINER}//`)
      // GitLab takes a line that begins with a slash as an order, such as `/merge`.
      .replaceAll(/^(\s*)\/(?=\p{L})/gmu, `$1${JOINER}/`)
  );
}

/** A block of Markdown that shows text as it is, whatever is in it. */
export function codeBlock(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${inert(text)}\n${fence}`;
}
