import { existsSync } from "node:fs";
import { join } from "node:path";

import { attempt } from "../base/attempt.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { Git } from "../git/git.ts";
import type { KnownRepository, Repository } from "../store/review/review-thread.ts";
import type { Reviews } from "../store/review/reviews.ts";
import type { FoundRepository } from "./repository.ts";

/** Bytes of a configuration file. */
const LARGEST_CONFIG = 1024 * 1024;
/** The most commits of a missing repository that are searched for in another. */
const MOST_COMMITS = 100;

/**
 * The record of a repository for the store. If the store does not know it, it may be one that was moved
 * here: then its threads follow it. Git runs only if some repository is gone.
 */
export async function recogniseRepository(
  reviews: Reviews,
  here: FoundRepository,
): Promise<Repository> {
  const { gitDir, root } = here;
  const repository = { gitDir, root, remotes: remotesIn(gitDir) };
  const known = await reviews.repositories.list();
  if (known.some((each) => each.gitDir === gitDir)) return repository;
  for (const candidate of known.filter(isGone)) {
    if (!isSameRemotes(candidate.remotes, repository.remotes)) continue;
    if (!(await isSameHistory(reviews, candidate, here))) continue;
    await reviews.repositories.move(candidate.gitDir, repository);
    break;
  }
  return repository;
}

/** Records how to recognise a repository, once, in the background. */
export async function noteFirstCommit(reviews: Reviews, here: FoundRepository): Promise<void> {
  const own = (await reviews.repositories.list()).find(({ gitDir }) => gitDir === here.gitDir);
  if (own === undefined || own.firstCommit !== undefined) return;
  await reviews.repositories.setFirstCommit(here.gitDir, (await firstCommit(here)) ?? "");
}

/** Whether a repository is no longer where its threads say. */
export function isGone({ gitDir }: Pick<Repository, "gitDir">): boolean {
  return !existsSync(gitDir);
}

/** Forks have the same first commit, but other remotes. */
function isSameRemotes(some: readonly string[], others: readonly string[]): boolean {
  return some.length === 0 ? others.length === 0 : some.some((address) => others.includes(address));
}

async function isSameHistory(
  reviews: Reviews,
  { gitDir, firstCommit: first }: KnownRepository,
  here: FoundRepository,
): Promise<boolean> {
  if (first !== undefined && first !== "") return first === (await firstCommit(here));
  const commits = await reviews.repositories.commentedCommits(gitDir, MOST_COMMITS);
  if (commits.length === 0) return false;
  const { stdout } = await new Git(here.root).run(["cat-file", "--batch-check"], {
    input: commits.map((commit) => `${commit}\n`).join(""),
  });
  return / commit \d+$/m.test(stdout.toString("utf8"));
}

/** The oldest commit without parents; undefined if there is none, or git takes too long. */
async function firstCommit({ root }: FoundRepository): Promise<string | undefined> {
  try {
    const call = { accepts: [0, 128], timeout: 10_000 };
    const { code, stdout } = await new Git(root).run(["rev-list", "--max-parents=0", "HEAD"], call);
    return code === 0 ? stdout.toString("utf8").trim().split("\n").at(-1) : undefined;
  } catch {
    return undefined;
  }
}

/** The addresses of the remotes, read from the file: a person waits, and running git takes long. */
function remotesIn(gitDir: string): string[] {
  // Without remotes it is recognised by its history alone.
  const file = attempt(() => readRegularFile(join(gitDir, "config"), { most: LARGEST_CONFIG }));
  const text = file?.toString("utf8") ?? "";
  const sections = text.matchAll(/^[ \t]*\[remote "[^\n]*"\]([^]*?)(?=^[ \t]*\[|$(?![^]))/gim);
  const addresses = Array.from(sections, ([, body = ""]) => {
    return [...body.matchAll(/^[ \t]*url[ \t]*=[ \t]*(.+?)[ \t]*$/gim)].map(([, url = ""]) => url);
  });
  return addresses.flat().map(withoutCredentials).toSorted();
}

/** Addresses may contain a password, which the store does not need. */
function withoutCredentials(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^@/]*@/i, "$1").replace(/(?:\.git)?\/*$/, "");
}
