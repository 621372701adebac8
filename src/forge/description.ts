import { codeBlock } from "./inert-text.ts";

/** The changes of a branch since the commit that work began with. */
export interface Work {
  readonly session: string;
  /** The commit that work began with. */
  readonly since: string;
  /** Titles of the first commits, oldest first; `commits` counts all. */
  readonly titles: readonly string[];
  readonly commits: number;
  /** The output of `git diff --stat`. */
  readonly stat: string;
}

/** Marks our part of a description. Markdown does not show comments. */
const BEGIN = "<!-- trunkline: this part is written anew after each push -->";
const END = "<!-- trunkline: until here -->";

/** The description of a new pull request: the whole branch, not only its last commit. */
export function describeWork({ session, since, titles, commits, stat }: Work): string {
  const more = commits - titles.length;
  const listed = [
    ...titles.map((title, index) => `${index + 1}. ${title}`),
    ...(more > 0 ? [`… and ${more} more`] : []),
  ];
  return [
    BEGIN,
    `An agent did this in session \`${session}\`, beginning at ${since.slice(0, 12)}. It was asked:`,
    "",
    codeBlock(listed.join("\n")),
    "",
    "It changed:",
    "",
    codeBlock(stat),
    END,
  ].join("\n");
}

/**
 * The description with our part replaced by `fresh`; the text that people wrote before and after it stays.
 * Undefined if nothing changes: it is up to date, or somebody has removed our part.
 */
export function renewed(description: string, fresh: string): string | undefined {
  // A forge may have stored the line ends that a browser sent.
  const before = description.replaceAll("\r\n", "\n");
  const from = before.indexOf(BEGIN);
  const to = before.indexOf(END, from);
  if (from < 0 || to < 0) return undefined;
  const after = `${before.slice(0, from)}${fresh}${before.slice(to + END.length)}`;
  return after === before ? undefined : after;
}
