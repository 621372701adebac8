import { existsSync } from "node:fs";
import { dirname } from "node:path";

import type { Message, Thread } from "../store/review/review-thread.ts";
import { Reviews, type Saying, type ThreadFilter } from "../store/review/reviews.ts";
import { addComment, type NewComment } from "./add-comment.ts";
import { type LocatedLines, Locator } from "./anchor/locator.ts";
import { PositionCache } from "./anchor/position-cache.ts";
import type { LocatedMessage } from "./message-text.ts";
import { findRepository, type FoundRepository, openRepository } from "./repository.ts";
import { type Applied, applySuggestion, writeApplied } from "./suggestion.ts";
import { type ThreadView, viewOf } from "./thread-view.ts";

/** The operations on review threads, from a folder or for all repositories. */
export class ReviewCommands implements Disposable {
  readonly reviews: Reviews;
  /** Where the store is. */
  readonly data: string;
  readonly folder: string;
  /** The folder's repository. */
  readonly repository: FoundRepository | undefined;

  constructor(reviews: Reviews, folder: string, repository = findRepository(folder)) {
    this.reviews = reviews;
    this.data = dirname(reviews.path);
    this.folder = folder;
    this.repository = repository;
  }

  static async open(data: string, folder: string): Promise<ReviewCommands> {
    return new ReviewCommands(await Reviews.open(data), folder);
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
    const { locate, save } = this.#locator(here);
    const views = threads.map(async (thread) => viewOf(thread, await locate(thread)));
    return Promise.all(views).finally(save);
  }

  /** One thread with its replies. */
  async show(id: string, here = this.repository): Promise<ThreadView> {
    const thread = await this.reviews.get(id);
    const history = await this.reviews.history(thread.id);
    return viewOf(thread, await this.#locator(here).locate(thread), history);
  }

  async reply(id: string, saying: Saying): Promise<ThreadView> {
    return this.show((await this.reviews.reply(id, saying)).id);
  }

  async propose(id: string, saying: Saying): Promise<ThreadView> {
    return this.show((await this.reviews.propose(id, saying)).id);
  }

  async resolve(id: string, saying: Saying): Promise<ThreadView> {
    return this.show((await this.reviews.resolve(id, saying)).id);
  }

  async reopen(id: string, saying: Saying): Promise<ThreadView> {
    return this.show((await this.reviews.reopen(id, saying)).id);
  }

  /** The file with the thread's suggestion applied. */
  async suggested(id: string): Promise<Applied> {
    const thread = await this.reviews.get(id);
    const position = await this.#locator(this.repository).locate(thread);
    return applySuggestion(rootOf(thread, this.repository), thread, position);
  }

  async apply(id: string): Promise<Applied> {
    const applied = await this.suggested(id);
    writeApplied(rootOf(await this.reviews.get(id), this.repository), applied);
    return applied;
  }

  /** Messages with their current positions. */
  async locateMessages(
    messages: readonly Message[],
    here = this.repository,
  ): Promise<LocatedMessage[]> {
    const { locate } = this.#locator(here);
    return Promise.all(
      messages.map(async (message) => {
        const { path, line, confidence } = await locate(message);
        return { message, path, line, isGone: confidence === "gone" };
      }),
    );
  }

  [Symbol.dispose](): void {
    this.reviews[Symbol.dispose]();
  }

  #locator(here: FoundRepository | undefined): {
    locate(of: Pick<Thread, "anchor" | "repository">): Promise<LocatedLines>;
    /** Remembers the positions for the next time. */
    save(): void;
  } {
    const locators = new Map<string, Locator>();
    const caches: PositionCache[] = [];
    return {
      locate: (thread) => {
        const { gitDir } = thread.repository;
        const known = locators.get(gitDir);
        if (known !== undefined) return known.locate(thread.anchor);
        const root = rootOf(thread, here);
        const cache = new PositionCache(this.data, root);
        caches.push(cache);
        const locator = new Locator(root, this.reviews, cache);
        locators.set(gitDir, locator);
        return locator.locate(thread.anchor);
      },
      save: () => {
        for (const cache of caches) cache.save();
      },
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
