import { describeWork, renewed, type Work } from "./description.ts";
import type { Forge, PullRequest } from "./forge.ts";
import { inert } from "./inert-text.ts";

export interface Wanted {
  readonly head: string;
  /** Empty for the default branch of the repository. */
  readonly base: string;
  readonly work: Work;
  readonly isDraft: boolean;
  /** The number of the pull request, if it is known. */
  readonly known?: number | undefined;
}

export interface Proposed {
  readonly state: "created" | "updated" | "closed";
  readonly number: number;
  readonly url: string;
}

/**
 * Opens or updates the one pull request of a branch. It searches before it creates one, and again if
 * creating fails, because the forge may have created it although the answer was lost. A closed or merged
 * pull request is not changed.
 */
export async function propose(forge: Forge, wanted: Wanted): Promise<Proposed> {
  const { head, work, isDraft, known } = wanted;
  const body = describeWork(work);
  const before = known === undefined ? undefined : await forge.get(known);
  if (before !== undefined) return await update(forge, before, body);
  const base = wanted.base === "" ? await forge.defaultBranch() : wanted.base;
  const find = (): Promise<PullRequest | undefined> => forge.find(head, base);
  const found = await find();
  if (found !== undefined) return await update(forge, found, body);
  try {
    const title = inert(work.titles[0] ?? head);
    return { state: "created", ...named(await forge.create({ head, base, title, body, isDraft })) };
  } catch (error) {
    const made = await find().catch(() => undefined);
    if (made?.isOpen === true) return { state: "created", ...named(made) };
    throw error;
  }
}

async function update(forge: Forge, request: PullRequest, fresh: string): Promise<Proposed> {
  if (!request.isOpen) return { state: "closed", ...named(request) };
  const description = renewed(request.body, fresh);
  if (description !== undefined) await forge.describe(request.number, description);
  return { state: "updated", ...named(request) };
}

function named({ number, url }: PullRequest): Pick<PullRequest, "number" | "url"> {
  return { number, url };
}
