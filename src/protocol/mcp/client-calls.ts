import { CannotAsk, type Question, type ToolContext } from "../../tool/tool.ts";
import type { JsonObject } from "./client.ts";

/** What is known of where a message of the server belongs. */
export interface Origin {
  /** The progress token of the call whose stream it came on. */
  readonly token?: unknown;
  /** The task that it speaks of. */
  readonly task?: unknown;
}

/**
 * The calls that one server works on, to find the one that a question of it belongs to. Before
 * 2026-07-28 a server on standard streams does not say: then it is known only where all open calls
 * come from one client. A question is never put to somebody who may have nothing to do with it.
 */
export class ClientCalls {
  /** By progress token. */
  readonly #open = new Map<number, ToolContext>();
  readonly #tasks = new Map<string, ToolContext>();
  #lastToken = 0;

  get size(): number {
    return this.#open.size;
  }

  /** Begins work that the server does for a context, under a progress token of its own. */
  begin(context: ToolContext): number {
    const token = ++this.#lastToken;
    this.#open.set(token, context);
    return token;
  }

  end(token: number): void {
    this.#open.delete(token);
  }

  /** Until the returned function is called, the task belongs to the context. */
  bindTask(taskId: string, context: ToolContext): () => void {
    this.#tasks.set(taskId, context);
    return () => this.#tasks.delete(taskId);
  }

  progressed(params: JsonObject): void {
    const { progressToken, progress, total, message } = params;
    if (typeof progress !== "number") return;
    this.#open
      .get(progressToken as number)
      ?.progress(
        progress,
        typeof total === "number" ? total : undefined,
        typeof message === "string" ? message : undefined,
      );
  }

  /** One context of each client that has a call open: whom a message of the server may concern. */
  audience(): ToolContext[] {
    const byClient = new Map<string, ToolContext>();
    for (const context of this.#open.values()) byClient.set(clientOf(context), context);
    return [...byClient.values()];
  }

  /** Whom a question is for. Throws when nobody can be asked, or it cannot be told who. */
  askedOf(question: Question, origin: Origin): ToolContext {
    const known = this.#tasks.get(origin.task as string) ?? this.#open.get(origin.token as number);
    if (known !== undefined) return able(known, question);
    const everyone = this.audience();
    const candidates = everyone.filter((context) => context.canAsk(question));
    const [only, another] = candidates;
    if (only === undefined) throw new CannotAsk(question);
    if (another === undefined) return only;
    throw new Ambiguous(question.method, candidates.length);
  }
}

/** More than one client may be meant. */
export class Ambiguous extends Error {
  override readonly name = "Ambiguous";
  constructor(method: string, clients: number) {
    super(
      `Cannot pass on '${method}': ${clients} clients have calls in flight, ` +
        "and the server does not say which one it means",
    );
  }
}

function able(context: ToolContext, question: Question): ToolContext {
  if (!context.canAsk(question)) throw new CannotAsk(question);
  return context;
}

function clientOf({ session, caller }: ToolContext): string {
  return JSON.stringify([session, caller.door, caller.name]);
}
