import { existsSync } from "node:fs";
import { dirname } from "node:path";

import type { Message, Repository, Thread } from "../store/review/review-thread.ts";
import { Reviews, type Saying } from "../store/review/reviews.ts";
import type { ThreadFilter } from "../store/review/reviews-threads.ts";
import { addComment, type NewComment } from "./add-comment.ts";
import { GONE } from "./anchor/line-position.ts";
import { Locator, type LocatorOptions } from "./anchor/locator.ts";
import { PositionCache } from "./anchor/position-cache.ts";
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
    if (repository === undefined || this.isRecognised(repository)) return;
    await recognised(this.reviews, repository);
    await noteFirstCommit(this.reviews, repository);
    this.#recognised.add(repository.gitDir);
  }

  /** Whether it was looked at before, so that there is nothing to wait for. */
  isRecognised(repository: FoundRepository | undefined): boolean {
    return repository === undefined || this.#recognised.has(repository.gitDir);
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
    const { locate, save } = this.locator(here);
    const views = threads.map(async (thread) => viewOf(thread, await locate(thread)));
    return Promise.all(views).finally(save);
  }

  /** One thread with its replies. */
  async show(id: string, here = this.repository): Promise<ThreadView> {
    const thread = await this.reviews.get(id);
    const history = await this.reviews.history(thread.id);
    return viewOf(thread, await this.locator(here).locate(thread), history);
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
    const position = await this.locator(this.repository).locate(thread);
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
    const { locate } = this.locator(here);
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

  /** Finds the current lines of comments. `here` is as in `views`; what is `known` is of `here`. */
  locator(
    here: FoundRepository | undefined,
    known: Omit<LocatorOptions, "cache"> = {},
  ): {
    readonly locate: (of: Pick<Thread, "anchor" | "repository">) => Promise<ShownLines>;
    /** The same for all comments on one version of a file. */
    readonly locateAll: (
      repository: Repository,
      ...of: Parameters<Locator["locateAll"]>
    ) => Promise<ShownLines[]>;
    /** Remembers the positions for the next time. */
    readonly save: () => void;
  } {
    const locators = new Map<string, Locator | undefined>();
    const caches: PositionCache[] = [];
    const open = (repository: Repository): Locator | undefined => {
      // Git cannot run where nothing is.
      if (isGone(repository)) return undefined;
      const root = rootOf({ repository }, here);
      const cache = new PositionCache(this.data, root);
      caches.push(cache);
      const { texts } = known;
      return new Locator(root, this.reviews, {
        cache,
        texts,
        index: root === here?.root ? known.index : undefined,
      });
    };
    const locatorOf = (repository: Repository): Locator | undefined => {
      const { gitDir } = repository;
      if (!locators.has(gitDir)) locators.set(gitDir, open(repository));
      return locators.get(gitDir);
    };
    const unknown = (path: string): ShownLines => ({ ...GONE, path, isRepositoryGone: true });
    return {
      locate: async ({ repository, anchor }) =>
        locatorOf(repository)?.locate(anchor) ?? unknown(anchor.path),
      locateAll: async (repository, place, comments) =>
        locatorOf(repository)?.locateAll(place, comments) ??
        comments.map(() => unknown(place.path)),
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
