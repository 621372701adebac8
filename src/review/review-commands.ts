import { existsSync } from "node:fs";
import { dirname } from "node:path";

import type { Message, Repository, Thread } from "../store/review/review-thread.ts";
import { Reviews, type Saying } from "../store/review/reviews.ts";
import type { ThreadFilter } from "../store/review/reviews-rows.ts";
import { addComment, type NewComment } from "./add-comment.ts";
import { GONE } from "./anchor/line-position.ts";
import { Locator } from "./anchor/locator.ts";
import type { LocatedMessage } from "./message-text.ts";
import { isGone, noteFirstCommit, recognised } from "./moved.ts";
import { findRepository, type FoundRepository, openRepository } from "./repository.ts";
import { type Applied, applySuggestion, writeApplied } from "./suggestion.ts";
import { type ShownLines, type ThreadView, viewOf } from "./thread-view.ts";

/** The operations on review threads, from a folder or for all repositories. */
export class ReviewCommands implements Disposable {
  readonly reviews: Reviews;
  /** Where the store is. */
  readonly data: string;
  readonly folder: string;
  /** The folder's repository. */
  readonly repository: FoundRepository | undefined;
  /** Git folders. */
  readonly #recognised = new Set<string>();

  constructor(reviews: Reviews, folder: string, repository = findRepository(folder)) {
    this.reviews = reviews;
    this.data = dirname(reviews.path);
    this.folder = folder;
    this.repository = repository;
  }

  static async open(data: string, folder: string): Promise<ReviewCommands> {
    const commands = new ReviewCommands(await Reviews.open(data), folder);
    try {
      await commands.recognise(commands.repository);
      return commands;
    } catch (error) {
      commands[Symbol.dispose]();
      throw error;
    }
  }

  /** Finds the threads of a repository that was moved here. Looks once at each. */
  async recognise(repository: FoundRepository | undefined): Promise<void> {
    if (repository === undefined || this.#recognised.has(repository.gitDir)) return;
    await recognised(this.reviews, repository);
    await noteFirstCommit(this.reviews, repository);
    this.#recognised.add(repository.gitDir);
  }

  /** Throws if the folder is not in a repository. */
  get here(): FoundRepository {
    return this.repository ?? openRepository(this.folder);
  }

  /** Adds a comment and returns its thread. */
  add(comment: NewComment): Promise<{ readonly id: string; readonly isNew: boolean }> {
    return addComment(this.reviews, this.here, this.folder, comment);
  }

  /** Threads with their current positions, oldest first. */
  async list(filter: ThreadFilter = {}): Promise<ThreadView[]> {
    return this.views(await this.reviews.list(filter));
  }

  /** `here` is the work tree to search, if it belongs to the thread's repository. */
  async views(threads: readonly Thread[], here = this.repository): Promise<ThreadView[]> {
    const locate = this.#locator(here);
    return Promise.all(threads.map(async (thread) => viewOf(thread, await locate(thread))));
  }

  /** One thread with its replies. */
  async show(id: string, here = this.repository): Promise<ThreadView> {
    const thread = await this.reviews.get(id);
    const history = await this.reviews.history(thread.id);
    return viewOf(thread, await this.#locator(here)(thread), history);
  }

  /** Adds to a thread what somebody says or decides. */
  async say(
    what: "reply" | "propose" | "resolve" | "reopen",
    id: string,
    saying: Saying,
  ): Promise<ThreadView> {
    return this.show((await this.reviews[what](id, saying)).id);
  }

  /** The file with the thread's suggestion applied. */
  async suggested(id: string): Promise<Applied> {
    const thread = await this.reviews.get(id);
    const position = await this.#locator(this.repository)(thread);
    return applySuggestion(rootOf(thread, this.repository), thread, position);
  }

  /** Changes the file, and resolves the thread. */
  async apply(id: string, by: string): Promise<Applied & { readonly thread: Thread }> {
    const applied = await this.suggested(id);
    writeApplied(rootOf(await this.reviews.get(id), this.repository), applied);
    const saying = { by, role: "person", text: "Applied the suggestion." } as const;
    return { ...applied, thread: await this.reviews.resolve(id, saying) };
  }

  /** Messages with their current positions. */
  async locateMessages(
    messages: readonly Message[],
    here = this.repository,
  ): Promise<LocatedMessage[]> {
    const locate = this.#locator(here);
    return Promise.all(
      messages.map(async (message) => {
        const { path, line, confidence, isRepositoryGone } = await locate(message);
        return { message, path, line, isGone: confidence === "gone", isRepositoryGone };
      }),
    );
  }

  [Symbol.dispose](): void {
    this.reviews[Symbol.dispose]();
  }

  /** Finds the current lines of comments. `here` is as in `views`. */
  #locator(
    here: FoundRepository | undefined,
  ): (of: Pick<Thread, "anchor" | "repository">) => Promise<ShownLines> {
    const locators = new Map<string, Locator | undefined>();
    const open = (repository: Repository): Locator | undefined =>
      // Git cannot run where nothing is.
      isGone(repository) ? undefined : new Locator(rootOf({ repository }, here), this.reviews);
    return async ({ repository, anchor }) => {
      const { gitDir } = repository;
      if (!locators.has(gitDir)) locators.set(gitDir, open(repository));
      const { path } = anchor;
      return locators.get(gitDir)?.locate(anchor) ?? { ...GONE, path, isRepositoryGone: true };
    };
  }
}

/** The current work tree if it belongs to the thread's repository, else the thread's own. */
function rootOf(
  { repository }: Pick<Thread, "repository">,
  here: FoundRepository | undefined,
): string {
  const root = here?.gitDir === repository.gitDir ? here.root : repository.root;
  return existsSync(root) ? root : repository.gitDir;
}
