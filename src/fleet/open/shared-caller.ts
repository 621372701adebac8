import { OWNER, type Principal } from "../../base/principal.ts";
import type { Caller, ToolContext } from "../../tool/tool.ts";

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
  return contextFor(context, caller, folder, { ...context.meta, [CALLER]: told });
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
  return contextFor(context, caller, folder, meta);
}

function isCaller(value: unknown): value is SharedCaller {
  const { principal, name, client, folder } = (value ?? {}) as Partial<Record<string, unknown>>;
  const { id } = (principal ?? {}) as Partial<Principal>;
  const texts = [id, name, client, folder ?? ""];
  return texts.every((text) => typeof text === "string");
}

/** The same context with another caller, folder and `_meta`, and without the project. */
function contextFor(
  context: ToolContext,
  caller: Caller,
  folder: string | undefined,
  meta: ToolContext["meta"],
): ToolContext {
  const { session, span } = context;
  return {
    caller,
    folder,
    meta,
    session,
    span,
    get signal() {
      return context.signal;
    },
    get isTask() {
      return context.isTask === true;
    },
    ...(context.roots === undefined ? {} : { roots: async () => context.roots?.() }),
    ...(context.piece === undefined
      ? {}
      : { piece: async (data, contentType) => context.piece?.(data, contentType) }),
    progress: (...given) => context.progress(...given),
    log: (...given) => context.log(...given),
    canAsk: (question) => context.canAsk(question),
    ask: (question) => context.ask(question),
    remoteTask: (taskId) => context.remoteTask?.(taskId),
    pageDone: (id) => context.pageDone?.(id),
  };
}
