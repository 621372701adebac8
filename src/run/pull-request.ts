import { join } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { objectIn } from "../base/check.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import type { ServerGit } from "../git/server/server-git.ts";
import { replaceFile } from "../store/replace-file.ts";
import { BASE, type RunTarget } from "./deliver.ts";

/** Whether a pull request is opened for a run's branch, and whether it is a draft. */
export type RequestMode = "off" | "draft" | "ready";

/** The content of a pull request. */
export interface Proposal {
  /** The URL from which git fetches the repository. */
  readonly url: string;
  readonly head: string;
  /** The branch to merge into; empty for the default branch. */
  readonly base: string;
  readonly isDraft: boolean;
  /** The number of the pull request, if it was opened before. */
  readonly known?: number | undefined;
  /** All changes of the branch, not only those of the last turn. */
  readonly work: {
    readonly session: string;
    readonly since: string;
    readonly titles: readonly string[];
    readonly commits: number;
    readonly stat: string;
  };
  readonly signal: AbortSignal;
}

export type ProposalResult =
  | {
      readonly state: "created" | "updated" | "closed";
      readonly number: number;
      readonly url: string;
    }
  /** `page` is where a person can open the pull request. */
  | { readonly state: "failed"; readonly why: string; readonly page?: string | undefined };

/** Opens a pull request on a forge, or updates it. It does not throw. */
export type PullRequestProposer = (proposal: Proposal) => Promise<ProposalResult>;

export interface RunRequestOptions extends Pick<Proposal, "base" | "isDraft"> {
  readonly git: ServerGit;
  readonly session: string;
  readonly propose: PullRequestProposer;
}

/** What is stored about a pull request, in the git folder. */
interface PullRequestRecord {
  readonly number: number;
  readonly url: string;
  /** The commit that it describes. */
  readonly revision: string;
}

const FILE = "trunkline-request.json";
const MOST_TITLES = 100;
const MOST_FILES = 100;

/** The one pull request of a run. */
export function openRequest({ git, session, base, isDraft, propose }: RunRequestOptions) {
  const file = join(git.gitDir, FILE);
  const stopped = new AbortController();
  let kept = readKept(file);

  async function proposeAll({ url, branch, revision }: RunTarget): Promise<ProposalResult> {
    const work = { session, ...(await describe(revision)) };
    const known = kept?.number;
    const { signal } = stopped;
    const result = await propose({ url, head: branch, base, isDraft, known, work, signal });
    if (result.state === "failed") return result;
    kept = { number: result.number, url: result.url, revision };
    // Without the file, the pull request is found by its branch.
    await replaceFile(file, JSON.stringify(kept)).catch(() => {});
    return result;
  }

  async function describe(revision: string): Promise<Omit<Proposal["work"], "session">> {
    const range = `${BASE}..${revision}`;
    const log = ["log", "--reverse", "--first-parent", "-z", "--format=%s", range, "--"];
    const titles = await git.list(log);
    const shape = [`--stat=80`, `--stat-count=${MOST_FILES}`, "--no-renames", "--no-ext-diff"];
    return {
      since: await git.text(["rev-parse", BASE]),
      titles: titles.slice(0, MOST_TITLES),
      commits: titles.length,
      stat: await git.text(["diff", ...shape, "--no-textconv", BASE, revision, "--"]),
    };
  }

  return {
    /** The stored pull request; undefined until one was opened. */
    get known() {
      return kept && { url: kept.url, number: kept.number };
    },

    /** Opens the pull request or updates its description. Undefined if it is up to date. */
    async update(target: RunTarget): Promise<ProposalResult | undefined> {
      if (kept?.revision === target.revision) return undefined;
      return await proposeAll(target).catch((error: Error) => {
        return { state: "failed" as const, why: error.message };
      });
    },

    stop: () => stopped.abort(),
  };
}

export type RunRequest = ReturnType<typeof openRequest>;

function readKept(path: string): PullRequestRecord | undefined {
  const text = readRegularFile(path, { most: 64 * 1024 })?.toString("utf8") ?? "";
  const { number, url, revision }: Partial<PullRequestRecord> = objectIn(text) ?? {};
  const isWhole = Number.isInteger(number) && typeof url === "string";
  // Without it, the pull request is searched by its branch.
  return isWhole ? { number: number ?? 0, url, revision: String(revision) } : undefined;
}

/** Tells a person what happened to the pull request. */
export function wordsOnRequest(result: ProposalResult): string {
  switch (result.state) {
    case "created":
      return `Opened pull request ${named(result)}`;
    case "updated":
      return `Updated pull request ${named(result)}`;
    case "closed":
      return `The pull request is closed, so it was not updated. Reopen it to merge the branch: ${named(result)}`;
    case "failed": {
      const page = result.page === undefined ? "" : ` Open it yourself: ${result.page}`;
      return `The branch is pushed, but there is no pull request for it: ${result.why}${page}`;
    }
  }
}

function named({ number, url }: { readonly number: number; readonly url: string }): string {
  return url === "" ? `#${number}` : `#${number}, ${url}`;
}

/** Reads `_meta.trunkline.pullRequest`; without it, the configured mode applies. */
export function readRequestMode(meta: unknown, configured: RequestMode): RequestMode {
  const { trunkline } = (meta ?? {}) as { trunkline?: { pullRequest?: unknown } | null };
  const asked = trunkline?.pullRequest ?? undefined;
  if (asked === undefined) return configured;
  if (asked === true) return configured === "off" ? "ready" : configured;
  if (asked === false) return "off";
  if (asked === "draft" || asked === "ready" || asked === "off") return asked;
  const says = "'params._meta.trunkline.pullRequest' must be true, false, 'draft' or 'ready'";
  throw new TrunklineError("usage", says);
}
