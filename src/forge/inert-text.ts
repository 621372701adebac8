import { fenceFor } from "../base/text/fence.ts";
import { maskWhole } from "../base/text/mask.ts";

/** An invisible character (word joiner): forges do not recognise a name or a number across it. */
const JOINER = "\u2060";

/**
 * Makes untrusted text inert and masks secrets in it, for titles and descriptions of pull requests. It looks the same to people,
 * but a forge does not act on it: it mentions nobody (`@team`), links to no issue (`#1`, `!1`, `GH-1`,
 * URLs of issues), and so closes none.
 */
export function inert(text: string): string {
  return (
    // First: a secret could not be found among the characters that are put in.
    maskWhole(text)
      // Invisible characters, except line ends.
      .replaceAll(/[^\P{Cc}\n]|\p{Cf}|[\u2028\u2029]/gu, " ")
      .replaceAll(/([@#!&%~$])(?=[\p{L}\p{N}_"[])/gu, `$1${JOINER}`)
      .replaceAll(/\b(gh)-(?=\d)/gi, `$1${JOINER}-`)
      // `ABC-1` is an issue of Jira, which GitLab and Gitea can be connected to.
      .replaceAll(/\b([A-Z][A-Z0-9_]+)-(?=\d)/g, `$1${JOINER}-`)
      .replaceAll("://", `:${JOINER}//`)
      // GitLab runs a line that begins with a slash as a quick action, such as `/merge`.
      .replaceAll(/^([^\S\n]*)\/(?=\p{L})/gmu, `$1${JOINER}/`)
  );
}

/** A Markdown code block that shows any text unchanged. */
export function codeBlock(text: string): string {
  const fence = fenceFor(text);
  return `${fence}text\n${inert(text)}\n${fence}`;
}
