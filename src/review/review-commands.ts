import { existsSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Message, Repository, Thread } from "../store/review/review-thread.ts";
import type { Anchor, Suggestion } from "../store/schema.gen.ts";
import { Reviews, type ThreadMessage } from "../store/review/reviews.ts";
import type { ThreadFilter } from "../store/review/reviews-rows.ts";
import { addComment, type NewComment } from "./add-comment.ts";
import { GONE } from "./anchor/line-position.ts";
import { Locator, type LocatedLines } from "./anchor/locator.ts";
import type { LocatedMessage } from "./message-text.ts";
import { isGone, noteFirstCommit, recogniseRepository } from "./moved.ts";
import { findRepository, type FoundRepository, openRepository } from "./repository.ts";
import { type ShownLines, type ThreadView, viewOf } from "./thread-view.ts";
import { TrunklineError } from "../base/errors.ts";
import { realPath } from "../base/file/path.ts";
import { isGitOwned } from "../git/git-folder.ts";
import { unifiedDiff } from "../base/text/unified-diff.ts";
import { worktreeContent } from "./anchor/anchor.ts";

/** The operations on review threads, from a folder or for all repositories. */
export class ReviewCommands implements Disposable {
  readonly reviews: Reviews;
  /** Where the store is. */
  readonly data: string;
  readonly folder: string;
  /** The folder's repository. */
  readonly repository: FoundRepository | undefined;
  /** Texts of files that an editor has not saved, by their paths in the repository. */
  readonly #unsaved: ReadonlyMap<string, Uint8Array>;
  /** Git folders. */
  readonly #recognised = new Set<string>();

  constructor(
    reviews: Reviews,
    folder: string,
    repository = findRepository(folder),
    unsaved: ReadonlyMap<string, Uint8Array> = new Map(),
  ) {
    this.reviews = reviews;
    this.data = dirname(reviews.path);
    this.folder = folder;
    this.repository = repository;
    this.#unsaved = unsaved;
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
    await recogniseRepository(this.reviews, repository);
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
    saying: ThreadMessage,
  ): Promise<ThreadView> {
    return this.show((await this.reviews[what](id, saying)).id);
  }

  /** The file with the thread's suggestion applied. */
  async suggested(id: string): Promise<AppliedSuggestion> {
    const thread = await this.reviews.get(id);
    const position = await this.#locator(this.repository)(thread);
    const content = this.#unsaved.get(position.path);
    return applySuggestion(rootOf(thread, this.repository), thread, position, content);
  }

  /** Changes the file, and resolves the thread. */
  async apply(id: string, by: string): Promise<AppliedSuggestion & { readonly thread: Thread }> {
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
      // Git cannot run in a folder that does not exist.
      isGone(repository)
        ? undefined
        : new Locator(rootOf({ repository }, here), this.reviews, this.#unsaved);
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

const NEWLINE = 0x0a;

/** The result of applying a suggestion to the current file. */
export interface AppliedSuggestion {
  readonly path: string;
  readonly content: Buffer;
  /** The lines that were replaced, from 1. */
  readonly replaced: { readonly line: number; readonly end: number; readonly text: string };
  /** For `git apply`. */
  readonly patch: string;
}

/**
 * Applies a suggestion to the current lines, with their line ends. All other bytes stay. Throws
 * with the reason if it cannot be applied.
 */
export function applySuggestion(
  root: string,
  { suggestion, anchor }: { readonly suggestion?: Suggestion; readonly anchor: Anchor },
  position: LocatedLines,
  unsaved?: Uint8Array,
): AppliedSuggestion {
  const refuse = (why: string): never => {
    const says = `Cannot apply the suggestion to '${position.path}': ${why}.`;
    throw new TrunklineError("config", says);
  };
  if (suggestion === undefined) return refuse("the thread has no suggestion");
  if (isGitOwned(join(root, position.path))) return refuse("it is one of git's own files");
  const folder = dirname(position.path);
  if (realPath(join(root, folder)) !== join(realPath(root), folder)) {
    return refuse("its path has a symbolic link");
  }
  const { line, end } = position;
  if (anchor.side === "old") return refuse("it is on a removed line");
  if (position.confidence === "gone") return refuse("the lines it replaces are gone");
  if (line === undefined || end === undefined) return refuse("it is on no lines");
  const content = Buffer.from(
    unsaved ?? worktreeContent({ root }, position.path) ?? refuse("the file does not exist"),
  );
  const lines = rawLines(content);
  const now = lines.slice(line - 1, end).map((raw) => bare(raw).toString("utf8"));
  if (now.join("\n") !== anchor.quote?.join("\n")) {
    return refuse(`lines ${line} to ${end} have changed since`);
  }
  const ending = lines[line - 1]?.subarray(bare(lines[line - 1] ?? Buffer.alloc(0)).length);
  const isLast = end === lines.length && lines.at(-1)?.at(-1) !== NEWLINE;
  const usual = isLast ? usualEnd(lines) : (ending ?? Buffer.from("\n"));
  const added = suggestion.lines.map((text, index) => {
    const isUnended = isLast && index === suggestion.lines.length - 1;
    return Buffer.concat([Buffer.from(text), isUnended ? Buffer.alloc(0) : usual]);
  });
  const { path } = position;
  const after = Buffer.concat([...lines.slice(0, line - 1), ...added, ...lines.slice(end)]);
  const patch = unifiedDiff(path, content.toString("utf8"), after.toString("utf8"));
  const replaced = { line, end, text: Buffer.concat(added).toString("utf8") };
  return { path, content: after, replaced, patch };
}

/** Replaces the file in one step. */
export function writeApplied(root: string, { path, content }: AppliedSuggestion): void {
  const file = join(root, path);
  const part = `${file}.trunkline-${crypto.randomUUID()}`;
  try {
    writeFileSync(part, content, { mode: statSync(file).mode, flag: "wx" });
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

/** Lines with their line ends. */
function rawLines(content: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < content.length;) {
    const at = content.indexOf(NEWLINE, from);
    const to = at < 0 ? content.length : at + 1;
    lines.push(content.subarray(from, to));
    from = to;
  }
  return lines;
}

function bare(raw: Buffer): Buffer {
  let end = raw.length;
  if (raw[end - 1] === NEWLINE) end--;
  if (raw[end - 1] === 0x0d) end--;
  return raw.subarray(0, end);
}

/** The line end of the other lines, for a last line that has none. */
function usualEnd(lines: readonly Buffer[]): Buffer {
  const [first] = lines.filter((line) => line.at(-1) === NEWLINE);
  return first === undefined ? Buffer.from("\n") : first.subarray(bare(first).length);
}
