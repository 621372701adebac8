import { isAbsolute } from "node:path";
import type { Log } from "../base/log.ts";
import { defined } from "../base/defined.ts";
import { carrierOf } from "../base/trace.ts";
import type { ToolCall } from "../protocol/bus/shape/tool-shape.ts";
import {
  type Arguments,
  type Caller,
  CannotAsk,
  projectFolder,
  type ToolContext,
} from "../tool/tool.ts";

/** The member of `meta` in which a caller names the AI provider. */
export const PROVIDER = "trunkline/provider";

/** The facts about a call that a plugin is told. */
export type CallContext = Pick<
  ToolContext,
  "caller" | "session" | "folder" | "project" | "meta" | "span"
>;

export interface BusContextOptions {
  /** Who calls, by its certificate. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly log: Log;
  /** A plugin calls. */
  readonly isNested?: boolean;
  readonly piece?: ToolContext["piece"];
}

/** The caller that has dialled the bus under a name. */
export function busCaller(name: string): Caller {
  return { door: "bus", name, principal: { id: `bus ${name}`, name }, client: name };
}

/** The context of a tool call over the bus. Its caller can neither answer questions nor see progress. */
export function busContext(
  { project: folder = "", session, provider, traceParent: traceparent }: ToolCall,
  { name, signal, log, isNested, piece }: BusContextOptions,
): ToolContext {
  const caller = busCaller(name);
  const meta = defined({ [PROVIDER]: provider, traceparent });
  if (isNested === true) nested.add(meta);
  return {
    ...{ caller, meta, signal, ...defined({ session, piece }) },
    // A relative path would depend on the reader.
    folder: isAbsolute(folder) ? folder : undefined,
    progress: () => {},
    log: (level, data, logger) => log[level]("bus.tool-said", { caller: name, logger, data }),
    canAsk: () => false,
    ask: (question) => Promise.reject(new CannotAsk(question)),
  };
}

/** The call of a plugin's tool, with what the plugin is told of its caller. */
export function toolCallOf(name: string, args: Arguments, context: CallContext): ToolCall {
  const { caller, session, meta, span } = context;
  const provider = meta[PROVIDER];
  // The bus has no field for the other trace headers.
  const traceParent = carrierOf(span, meta)?.traceparent;
  return {
    name,
    args,
    caller: caller.name,
    session,
    project: projectFolder(context),
    provider: typeof provider === "string" ? provider : undefined,
    traceParent,
  };
}

/** The `meta` of calls that plugins have made. It stays when the context is wrapped. */
const nested = new WeakSet<object>();

/** Whether a plugin makes the call, possibly while it answers one itself. */
export function isNested({ meta }: Pick<ToolContext, "meta">): boolean {
  return nested.has(meta);
}
