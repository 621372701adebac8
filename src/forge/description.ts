import { codeBlock } from "./inert-text.ts";

/** What a branch brings, from where it began to where it is now. */
export interface Work {
  readonly session: string;
  /** The commit that work began with. */
  readonly since: string;
  /** First lines of the commits, oldest first. There may be more commits than are named. */
  readonly titles: readonly string[];
  readonly commits: number;
  /** As `git diff --stat` shows it. */
  readonly stat: string;
}

/** The part of a description that is ours. Markdown does not show comments. */
const BEGIN = "<!-- trunkline: this part is written anew after each push -->";
const END = "<!-- trunkline: until here -->";

/** The description of a new request: the whole branch, not its last commit alone. */
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
 * A description whose part of ours is as in `fresh`; what people wrote before and after it stays.
 * Undefined where nothing is to be changed: it says so already, or somebody took our part away.
 */
export function renewed(description: string, fresh: string): string | undefined {
  // Forges may keep line ends as browsers send them.
  const before = description.replaceAll("\r\n", "\n");
  const from = before.indexOf(BEGIN);
  const to = before.indexOf(END, from);
  if (from < 0 || to < 0) return undefined;
  const after = `${before.slice(0, from)}${fresh}${before.slice(to + END.length)}`;
  return after === before ? undefined : after;
}
