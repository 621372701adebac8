import type { Thread, ThreadState } from "../store/review/review-thread.ts";
import {
  type Arguments,
  type Project,
  textResult,
  type ToolContext,
  type ToolResult,
} from "../tool/tool.ts";
import { commitId } from "./anchor/anchor.ts";
import type { ReviewCommands } from "./review-commands.ts";
import { findRepository, type FoundRepository } from "./repository.ts";
import { NO_MESSAGES } from "./tool-definitions.ts";
import { type ReplyView, type ThreadView, UNRESOLVED } from "./thread-view.ts";
import { defined } from "../base/defined.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Proposal } from "../store/schema.gen.ts";
import { visibleLine } from "../base/text/visible.ts";
import { onAbort } from "../base/abort.ts";
import { watchReviews } from "./inbox/watch-reviews.ts";
import { afterSending, beforeSending } from "../base/event-loop.ts";
import type { Delivery, DeliveryRequest } from "../store/review/reviews.ts";
import { messagesText } from "./message-text.ts";

export interface ReviewSettings {
  readonly batch: number;
  readonly first: "newest" | "oldest";
  /** Seconds. */
  readonly lease: number;
}

/** The field whose value acknowledges an answer, as `after` of the next call. */
const DELIVERY_META = "trunkline/delivery";
/** The threads of the messages in an answer, in their order. */
const THREADS_META = "trunkline/threads";

type ReviewTool = (args: Arguments, context: ToolContext) => Promise<ToolResult>;

/** The review tools for agents. */
export class ReviewTools implements AsyncDisposable {
  readonly #commands: ReviewCommands;
  readonly #settings: ReviewSettings;
  readonly #deliveries: Deliveries;
  /** The clients that have claimed something. */
  readonly #claimants = new Set<string>();
  readonly #tools: Readonly<Record<string, ReviewTool>> = {
    check_lazygit_messages: (...call) => this.#messages(...call),
    review_list: (...call) => this.#list(...call),
    review_claim: (...call) => this.#claim(...call),
    review_wait: (...call) => this.#wait(...call),
    review_reply: (...call) => this.#reply(...call),
    review_propose: (...call) => this.#propose(...call),
  };

  constructor(
    commands: ReviewCommands,
    settings: ReviewSettings,
    report: (error: unknown) => void,
  ) {
    this.#commands = commands;
    this.#settings = settings;
    this.#deliveries = new Deliveries(commands, report);
  }

  async call(name: string, args: Arguments, context: ToolContext): Promise<ToolResult> {
    for (const folder of context.project?.folders ?? []) {
      await this.#commands.recognise(findRepository(folder));
    }
    const tool = this.#tools[name];
    if (tool === undefined) throw new Error(`There is no code for the tool ${name}`);
    return tool(args, context);
  }

  /** The waiting messages of a reader, in lazygit-mcp-bridge's format; undefined if there are none. */
  async messages(
    reader: string,
    project: Project | undefined,
    context: Pick<ToolContext, "signal">,
    after?: string,
  ): ReturnType<Deliveries["next"]> {
    const { batch: limit, first } = this.#settings;
    const { gitDirs = [undefined], here } = scopeOf(project);
    for (const gitDir of gitDirs) {
      const request = { reader, gitDir, here, limit, first, after };
      const delivered = await this.#deliveries.next(request, context);
      if (delivered !== undefined) return delivered;
    }
    return undefined;
  }

  async #messages({ after }: Arguments, context: ToolContext): Promise<ToolResult> {
    const { caller, project } = context;
    const found = await this.messages(caller.name, project, context, after as string | undefined);
    if (found === undefined) return textResult(NO_MESSAGES);
    const { text, id, threads } = found;
    return { ...textResult(text), _meta: { [DELIVERY_META]: id, [THREADS_META]: threads } };
  }

  /** Releases the claims of this process, and closes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deliveries.settled();
    if (this.#claimants.size > 0) await this.#commands.reviews.release();
    this.#commands[Symbol.dispose]();
  }

  /** A client is gone: others can claim what it had. */
  async gone(client: string): Promise<void> {
    if (this.#claimants.delete(client)) await this.#commands.reviews.release({ client });
  }

  async #list(args: Arguments, context: ToolContext): Promise<ToolResult> {
    if (typeof args.id === "string") return resultOf([await this.#commands.show(args.id)]);
    const { gitDirs = [undefined], here } = scopeOf(context.project);
    const states = (args.states as readonly ThreadState[] | undefined) ?? UNRESOLVED;
    const limit = (args.limit as number | undefined) ?? 50;
    const { reviews } = this.#commands;
    const lists = gitDirs.map((gitDir) => reviews.list({ gitDir, states }));
    const all = (await Promise.all(lists)).flat();
    const threads = await this.#commands.views(all.slice(0, limit), here);
    return resultOf(threads, "No threads found.", all.length - threads.length);
  }

  async #claim(args: Arguments, context: ToolContext): Promise<ToolResult> {
    if (typeof args.id === "string") {
      const threads = await this.#claimed(args, context, undefined, 1);
      return resultOf(await this.#shown(threads, {}));
    }
    const { gitDir, ...scope } = narrowScopeOf(context.project);
    const threads = await this.#claimed(args, context, gitDir, 1);
    const none = "No unclaimed thread.";
    return resultOf(await this.#shown(threads, scope), withRepository(none, scope, gitDir));
  }

  async #wait(args: Arguments, context: ToolContext): Promise<ToolResult> {
    const { gitDir, ...scope } = narrowScopeOf(context.project);
    const agent = agentOf(args, context);
    const { client } = context.caller;
    const threads = await waitForThreads({
      data: this.#commands.data,
      seconds: (args.timeoutSeconds as number | undefined) ?? 50,
      context,
      claim: () => this.#claimed(args, context, gitDir, 5),
      giveBack: (unwanted) => this.#commands.reviews.release({ ids: unwanted.map(({ id }) => id) }),
      // An agent that waits is alive: renew its claims.
      keep: () => this.#commands.reviews.renew(agent, this.#settings.lease * 1000, client),
    });
    const none = "No new review comments. Call review_wait again to keep listening.";
    return resultOf(await this.#shown(threads, scope), withRepository(none, scope, gitDir));
  }

  async #claimed(
    { id, limit, ...args }: Arguments,
    context: ToolContext,
    gitDir: string | undefined,
    usual: number,
  ): Promise<Thread[]> {
    const { client } = context.caller;
    this.#claimants.add(client);
    return this.#commands.reviews.claim({
      agent: agentOf(args, context),
      client,
      lease: this.#settings.lease * 1000,
      gitDir,
      id: id as string | undefined,
      limit: (limit as number | undefined) ?? usual,
    });
  }

  async #reply(args: Arguments, context: ToolContext): Promise<ToolResult> {
    const { client } = context.caller;
    const by = agentOf(args, context);
    const saying = { by, client, role: "agent", text: String(args.text) } as const;
    const thread = await this.#commands.say("reply", String(args.id), saying);
    const said = `${thread.id} is ${thread.state}. The reviewer will see it.`;
    return textResult(`${said}\n${repositoryText(thread.repository)}`);
  }

  async #propose(args: Arguments, context: ToolContext): Promise<ToolResult> {
    const { id, text, diff } = args as { id: string; text?: string; diff?: string };
    const commit = await this.#commitOf(id, args.commit);
    const proposal = defined<Proposal>({ text, commit, diff });
    const by = agentOf(args, context);
    const { client } = context.caller;
    const thread = await this.#commands.say("propose", id, { by, client, role: "agent", proposal });
    const said = `${thread.id} is ${thread.state}. The reviewer will look at it.`;
    return textResult(`${said}\n${repositoryText(thread.repository)}`);
  }

  /** The full id of a commit. It must exist, so that the reviewer can look at it. */
  async #commitOf(id: string, named: unknown): Promise<string | undefined> {
    if (typeof named !== "string") return undefined;
    return commitId((await this.#commands.reviews.get(id)).repository.gitDir, named);
  }

  async #shown(threads: readonly Thread[], { here }: Partial<ThreadScope>) {
    return Promise.all(threads.map(({ id }) => this.#commands.show(id, here)));
  }
}

function withRepository(text: string, { here }: ThreadScope, gitDir: string): string {
  return `${text}\n${repositoryText(here?.root ?? gitDir)}`;
}

function agentOf({ agent }: Arguments, { caller }: ToolContext): string {
  return typeof agent === "string" ? `${caller.name}/${agent}` : caller.name;
}

function resultOf(
  threads: Awaited<ReturnType<ReviewCommands["views"]>>,
  none = "",
  left = 0,
): ToolResult {
  const text = threads.length === 0 ? none : threadsText(threads);
  const more = left > 0 ? `\n\n${left} more: use a larger limit to see them.` : "";
  return { ...textResult(`${text}${more}`), structuredContent: { threads } };
}

/** Which threads a call is about. */
export interface ThreadScope {
  /** Git folders of the repositories, or folders of projects without git; undefined means all. */
  readonly gitDirs: readonly string[] | undefined;
  /** The caller's work tree, if it is in one. */
  readonly here: FoundRepository | undefined;
}

/**
 * The scope of a project. For a caller that was started in a folder without a repository it is all
 * projects; for one that names such a folder as a root it is that folder.
 */
export function scopeOf(project: Project | undefined): ThreadScope {
  const { folders = [], source } = project ?? {};
  const gitDirs = new Set<string>();
  const found: FoundRepository[] = [];
  for (const folder of folders) {
    const repository = findRepository(folder);
    if (repository !== undefined) {
      found.push(repository);
      gitDirs.add(repository.gitDir);
    } else if (source === "argument") throw notIn(folder);
    else if (source === "roots") gitDirs.add(folder);
  }
  return {
    gitDirs: gitDirs.size === 0 ? undefined : [...gitDirs],
    here: found.length === 1 ? found[0] : undefined,
  };
}

/** The same for claiming threads, which never covers all projects. */
export function narrowScopeOf(project: Project | undefined) {
  const { folder = "" } = project ?? {};
  const scope = scopeOf(project);
  const [gitDir] = scope.gitDirs ?? [];
  if (gitDir === undefined) throw notIn(folder);
  return { ...scope, gitDir };
}

function notIn(folder: string): TrunklineError {
  const why = "it is not in a git repository. Give the folder of one as 'repository'";
  return new TrunklineError("not-found", `Cannot use reviews in '${folder}': ${why}.`);
}

/** Threads as text for a model: the comments, their repository and their current lines. */
export function threadsText(threads: readonly ThreadView[]): string {
  const byRepository = Map.groupBy(threads, ({ repository }) => repository);
  return Array.from(byRepository, ([repository, those]) => {
    const isGone = those.some(({ isRepositoryGone }) => isRepositoryGone === true);
    const where = `${repositoryText(repository)}${isGone ? " (no longer there)" : ""}`;
    return [...those.map(threadText), where].join("\n\n");
  }).join("\n\n");
}

/** The last line of an answer: the place in which the agent works. */
export function repositoryText(repository: string): string {
  return `Repository: ${visibleLine(repository)}`;
}

function threadText(thread: ThreadView): string {
  const { id, severity, state, comment, quote = [], suggestion, replies = [] } = thread;
  return [
    `${id} (${severity}, ${state}) ${placeText(thread)}`,
    ...quote.map((line) => `  | ${line}`),
    `${visibleLine(thread.by)}: ${comment}`,
    ...(suggestion === undefined
      ? []
      : ["Suggested instead:", ...suggestion.map((line) => `  | ${line}`)]),
    ...replies.flatMap(replyText),
  ].join("\n");
}

function placeText(thread: ThreadView): string {
  const { line, end, confidence, side, original } = thread;
  const file = visibleLine(thread.file);
  if (confidence === "gone") {
    const was = original?.line === undefined ? "" : ` (it was line ${original.line})`;
    return `${file}: the commented lines are gone${was}`;
  }
  if (line === undefined) return file;
  const lines = end === line ? `${line}` : `${line}-${end}`;
  if (side === "old") return `${file}:${lines} (before the change)`;
  return `${file}:${lines}${confidence === "exact" ? "" : `, ${confidence} confidence`}`;
}

function replyText({ kind, by, text, commit, diff }: ReplyView): string[] {
  if (kind === "claimed" || kind === "returned") return [];
  const what = [text, commit === undefined ? undefined : `commit ${commit}`, diff];
  return [`${visibleLine(by)} ${kind}: ${what.filter((part) => part !== undefined).join("\n")}`];
}

/** Milliseconds between progress notifications: clients give up on a silent call. */
const SIGN_OF_LIFE = 10_000;

export interface WaitOptions {
  /** Where the store is. */
  readonly data: string;
  readonly seconds: number;
  readonly context: Pick<ToolContext, "progress" | "signal">;
  /** Claims what is available. */
  readonly claim: () => Promise<Thread[]>;
  /** Releases threads if the caller stopped waiting. */
  readonly giveBack: (threads: readonly Thread[]) => Promise<unknown>;
  /** Renews existing claims. */
  readonly keep: () => Promise<void>;
}

/** Waits for a thread to claim, for a limited time. */
export async function waitForThreads(options: WaitOptions): Promise<Thread[]> {
  const { data, seconds, context, claim, giveBack, keep } = options;
  const began = Date.now();
  const over = Promise.withResolvers<void>();
  let threads: Thread[] = [];
  let looking: Promise<void> | undefined;
  let isStale = false;
  const look = async (): Promise<void> => {
    while (isStale && threads.length === 0) {
      isStale = false;
      threads = await claim();
    }
    looking = undefined;
    if (threads.length > 0) over.resolve();
  };
  const lookAgain = (): void => {
    isStale = true;
    looking ??= look().catch(over.reject);
  };
  const stopWatching = watchReviews(data, lookAgain);
  // A claim that expires changes nothing on disk, so look again with each progress notification.
  const alive = setInterval(() => {
    const done = Math.round((Date.now() - began) / 1000);
    context.progress(done, seconds, "Waiting for review comments");
    keep().then(lookAgain, over.reject);
  }, SIGN_OF_LIFE);
  const timer = setTimeout(over.resolve, seconds * 1000);
  const stopListening = onAbort(context.signal, () => {
    over.reject(new TrunklineError("cancelled", "The caller stopped waiting."));
  });
  try {
    lookAgain();
    await over.promise;
    await looking;
    return threads;
  } catch (error) {
    await looking;
    await giveBack(threads);
    throw error;
  } finally {
    stopListening();
    clearInterval(alive);
    clearTimeout(timer);
    stopWatching();
  }
}

export interface DeliverOptions extends DeliveryRequest {
  /** The reader's work tree, if known. */
  readonly here: FoundRepository | undefined;
}

/**
 * Delivers waiting messages to readers. A message is claimed before the answer is sent, and counts as
 * delivered when the answer has been written. If the process is killed while it writes, nobody can
 * tell whether the answer arrived: the message is delivered once more, unless the reader acknowledges
 * it with its next call.
 */
export class Deliveries {
  readonly #commands: ReviewCommands;
  readonly #report: (error: unknown) => void;
  readonly #leaving = new Set<Promise<void>>();

  constructor(commands: ReviewCommands, report: (error: unknown) => void) {
    this.#commands = commands;
    this.#report = report;
  }

  /**
   * The next batch as a text, what the reader acknowledges it with, and the ids of the threads, in the order
   * of the messages; undefined if nothing is waiting.
   */
  async next(options: DeliverOptions, context: Pick<ToolContext, "signal">) {
    const { reviews } = this.#commands;
    const delivery = await reviews.take(options);
    const { id, messages } = delivery;
    if (messages.length === 0) return undefined;
    let text: string;
    try {
      text = messagesText(await this.#commands.locateMessages(messages, options.here));
    } catch (error) {
      await reviews.takeBack(options.reader, seqsOf(delivery)).catch(this.#report);
      throw error;
    }
    this.#leave(delivery, context);
    return { text, id, threads: messages.map(({ thread }) => thread) };
  }

  /** Resolves when all sent answers are recorded. */
  async settled(): Promise<void> {
    await Promise.all(this.#leaving);
  }

  #leave(delivery: Delivery, { signal }: Pick<ToolContext, "signal">): void {
    const { reviews } = this.#commands;
    const { reader } = delivery;
    const seqs = seqsOf(delivery);
    beforeSending(() => {
      try {
        if (!signal.aborted) reviews.leaving(reader, seqs);
      } catch (error) {
        this.#report(error);
      }
    });
    const left = Promise.withResolvers<void>();
    // A callback, so that the note is being written when this returns; a promise would run later.
    afterSending(() => {
      left.resolve(signal.aborted ? reviews.takeBack(reader, seqs) : reviews.sent(reader, seqs));
    });
    const leaving = left.promise.catch(this.#report).finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }
}

function seqsOf({ messages }: Delivery): number[] {
  return messages.map(({ seq }) => seq);
}
