import type { Thread, ThreadState } from "../store/review/review-thread.ts";
import {
  type Arguments,
  textResult,
  type ToolContext,
  type ToolResult,
  type Project,
} from "../tool/tool.ts";
import { commitId } from "./anchor/anchor.ts";
import { Deliveries, type Delivered } from "./deliver.ts";
import type { ReviewCommands } from "./review-commands.ts";
import { findRepository } from "./repository.ts";
import { narrowScopeOf, type Scope, scopeOf } from "./scope.ts";
import { NO_MESSAGES } from "./tool-definitions.ts";
import { UNRESOLVED } from "./thread-view.ts";
import { repositoryText, threadsText } from "./threads-text.ts";
import { waitForThreads } from "./wait.ts";

export interface ReviewSettings {
  readonly batch: number;
  readonly first: "newest" | "oldest";
  /** Seconds. */
  readonly lease: number;
}

/** What a program acknowledges an answer with, as `after` of its next call. */
const DELIVERY_META = "trunkline/delivery";
/** The threads of the messages in an answer, in their order. */
const THREADS_META = "trunkline/threads";

/** The review tools for agents. */
export class ReviewTools implements AsyncDisposable {
  readonly #commands: ReviewCommands;
  readonly #settings: ReviewSettings;
  readonly #deliveries: Deliveries;
  /** The clients that have claimed something. */
  readonly #claimants = new Set<string>();

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
    switch (name) {
      case "check_lazygit_messages":
        return this.#messages(args, context);
      case "review_list":
        return this.#list(args, context);
      case "review_claim":
        return this.#claim(args, context);
      case "review_wait":
        return this.#wait(args, context);
      case "review_reply":
        return this.#reply(args, context);
      case "review_propose":
        return this.#propose(args, context);
      default:
        throw new Error(`There is no code for the tool ${name}`);
    }
  }

  /** The waiting messages of a reader, in lazygit-mcp-bridge's format; undefined if there are none. */
  async messages(
    reader: string,
    project: Project | undefined,
    context: Pick<ToolContext, "signal">,
    after?: string,
  ): Promise<Delivered | undefined> {
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
    const proposal = {
      ...(text === undefined ? {} : { text }),
      ...(commit === undefined ? {} : { commit }),
      ...(diff === undefined ? {} : { diff }),
    };
    const by = agentOf(args, context);
    const { client } = context.caller;
    const thread = await this.#commands.say("propose", id, { by, client, role: "agent", proposal });
    const said = `${thread.id} is ${thread.state}. The reviewer will look at it.`;
    return textResult(`${said}\n${repositoryText(thread.repository)}`);
  }

  /** The full id of a commit. It must exist, so that the reviewer can look at it. */
  async #commitOf(id: string, named: unknown): Promise<string | undefined> {
    if (typeof named !== "string") return undefined;
    const { repository } = await this.#commands.reviews.get(id);
    return commitId(repository.gitDir, named);
  }

  async #shown(
    threads: readonly Thread[],
    { here }: Partial<Scope>,
  ): ReturnType<ReviewCommands["views"]> {
    return Promise.all(threads.map(({ id }) => this.#commands.show(id, here)));
  }
}

function withRepository(text: string, { here }: Scope, gitDir: string): string {
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
