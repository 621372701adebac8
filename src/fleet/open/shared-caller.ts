import { OWNER, type Principal } from "../../base/principal.ts";
import type { LogLevel } from "../../base/log.ts";
import type { Span } from "../../base/trace.ts";
import type { Caller, Project, Question, ToolContext } from "../../tool/tool.ts";

/** The member of `_meta` in which a node says for whom it calls a tool of another node. */
const CALLER = "trunkline.dev/caller";

/** For whom a node calls a tool of another node, and where that works. */
interface SharedCaller {
  readonly principal: Principal;
  readonly name: string;
  readonly client: string;
  readonly folder?: string | undefined;
}

/** The context of a call that another node is to carry out: it says who calls. */
export function withCaller(context: ToolContext): ToolContext {
  const { caller, project, folder = project?.folder } = context;
  const { principal, name, client } = caller;
  const told: SharedCaller = { principal, name, client, folder };
  return new NodeContext(context, caller, folder, { ...context.meta, [CALLER]: told });
}

/**
 * The context of a call that another node has sent, with whom it calls for. Undefined where it does not
 * say so. Only nodes are served with it, and what they say is trusted.
 */
export function calledBy(context: ToolContext, node: string): ToolContext | undefined {
  const { [CALLER]: told, ...meta } = context.meta;
  if (!isCaller(told)) return undefined;
  const { principal, name, client, folder } = told;
  const caller: Caller = {
    door: context.caller.door,
    name,
    principal: { ...OWNER, ...principal },
    client: `${node} ${client}`,
  };
  return new NodeContext(context, caller, folder, meta);
}

function isCaller(value: unknown): value is SharedCaller {
  const { principal, name, client, folder } = (value ?? {}) as Partial<Record<string, unknown>>;
  const { id } = (principal ?? {}) as Partial<Principal>;
  const texts = [id, name, client, folder ?? ""];
  return texts.every((text) => typeof text === "string");
}

/** A context with another caller and other `_meta`. */
class NodeContext implements ToolContext {
  readonly caller: Caller;
  readonly folder: string | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  project?: Project | undefined;
  span?: Span | undefined;
  readonly session?: string;
  readonly profile?: ToolContext["profile"];
  readonly roots?: NonNullable<ToolContext["roots"]>;
  readonly piece?: NonNullable<ToolContext["piece"]>;
  readonly #context: ToolContext;

  constructor(
    context: ToolContext,
    caller: Caller,
    folder: string | undefined,
    meta: Readonly<Record<string, unknown>>,
  ) {
    const { session, span } = context;
    this.#context = context;
    this.caller = caller;
    this.folder = folder;
    this.meta = meta;
    this.span = span;
    if (session !== undefined) this.session = session;
    if (context.roots !== undefined) this.roots = async () => context.roots?.();
    if (context.piece !== undefined) {
      this.piece = async (data, contentType) => context.piece?.(data, contentType);
    }
  }

  get isTask(): boolean {
    return this.#context.isTask === true;
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }

  progress(done: number, total?: number, message?: string): void {
    this.#context.progress(done, total, message);
  }

  log(level: LogLevel, data: unknown, logger?: string): void {
    this.#context.log(level, data, logger);
  }

  canAsk(question: Question): boolean {
    return this.#context.canAsk(question);
  }

  ask(question: Question): Promise<unknown> {
    return this.#context.ask(question);
  }

  remoteTask(taskId: string): void {
    this.#context.remoteTask?.(taskId);
  }

  pageDone(id: string): void {
    this.#context.pageDone?.(id);
  }
}
