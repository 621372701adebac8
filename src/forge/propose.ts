import { fenceFor } from "../base/text/fence.ts";
import { maskWhole } from "../base/text/mask.ts";
import type { Forge, PullRequest } from "./forge.ts";

/** An invisible character (word joiner): forges do not recognise a name or a number across it. */
const JOINER = "\u2060";

/**
 * Makes untrusted text inert and masks secrets in it, for titles and descriptions of pull requests. It looks the same to people,
 * but a forge does not act on it: it mentions nobody (`@team`), links to no issue (`#1`, `!1`, `GH-1`,
 * URLs of issues), and so closes none.
 */
export function inertText(text: string): string {
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
  return `${fence}text\n${inertText(text)}\n${fence}`;
}

/** The changes of a branch since the commit that work began with. */
interface BranchWork {
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
function describeWork({ session, since, titles, commits, stat }: BranchWork): string {
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
function renewed(description: string, fresh: string): string | undefined {
  // A forge may have stored the line ends that a browser sent.
  const before = description.replaceAll("\r\n", "\n");
  const from = before.indexOf(BEGIN);
  const to = before.indexOf(END, from);
  if (from < 0 || to < 0) return undefined;
  const after = `${before.slice(0, from)}${fresh}${before.slice(to + END.length)}`;
  return after === before ? undefined : after;
}

export interface PullRequestSpec {
  readonly head: string;
  /** Empty for the default branch of the repository. */
  readonly base: string;
  readonly work: BranchWork;
  readonly isDraft: boolean;
  /** The number of the pull request, if it is known. */
  readonly known?: number | undefined;
}

interface ProposedRequest {
  readonly state: "created" | "updated" | "closed";
  readonly number: number;
  readonly url: string;
}

/**
 * Opens or updates the one pull request of a branch. It searches before it creates one, and again if
 * creating fails, because the forge may have created it although the answer was lost. A closed or merged
 * pull request is not changed.
 */
export async function propose(forge: Forge, wanted: PullRequestSpec): Promise<ProposedRequest> {
  const { head, work, isDraft, known } = wanted;
  const body = describeWork(work);
  const before = known === undefined ? undefined : await forge.get(known);
  if (before !== undefined) return await update(forge, before, body);
  const base = wanted.base === "" ? await forge.defaultBranch() : wanted.base;
  const find = (): Promise<PullRequest | undefined> => forge.find(head, base);
  const found = await find();
  if (found !== undefined) return await update(forge, found, body);
  try {
    const title = inertText(work.titles[0] ?? head);
    return { state: "created", ...named(await forge.create({ head, base, title, body, isDraft })) };
  } catch (error) {
    const made = await find().catch(() => undefined);
    if (made?.isOpen === true) return { state: "created", ...named(made) };
    throw error;
  }
}

async function update(forge: Forge, request: PullRequest, fresh: string): Promise<ProposedRequest> {
  if (!request.isOpen) return { state: "closed", ...named(request) };
  const description = renewed(request.body, fresh);
  if (description !== undefined) await forge.describe(request.number, description);
  return { state: "updated", ...named(request) };
}

function named({ number, url }: PullRequest): Pick<PullRequest, "number" | "url"> {
  return { number, url };
}
