import { isAbsolute } from "node:path";
import type { Log, LogLevel } from "../base/log.ts";
import { carrierOf, type Span } from "../base/trace.ts";
import type { ToolCall } from "../protocol/bus/shape/tool-shape.ts";
import {
  type Arguments,
  type Caller,
  CannotAsk,
  type Project,
  projectFolder,
  type Question,
  type ToolContext,
} from "../tool/tool.ts";

/** The member of `meta` in which a caller names the AI provider. */
export const PROVIDER = "trunkline/provider";

/** What a plugin is told about a call. */
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
export class BusContext implements ToolContext {
  readonly caller: Caller;
  readonly session?: string;
  readonly folder: string | undefined;
  project?: Project | undefined;
  span?: Span | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  readonly piece?: NonNullable<ToolContext["piece"]>;
  readonly #log: Log;

  constructor(call: ToolCall, { name, signal, log, isNested, piece }: BusContextOptions) {
    this.caller = busCaller(name);
    // A relative path would depend on the reader.
    this.folder = isAbsolute(call.project ?? "") ? call.project : undefined;
    if (call.session !== undefined) this.session = call.session;
    if (piece !== undefined) this.piece = piece;
    this.signal = signal;
    this.#log = log;
    this.meta = {
      ...(call.provider === undefined ? {} : { [PROVIDER]: call.provider }),
      ...(call.traceParent === undefined ? {} : { traceparent: call.traceParent }),
    };
    if (isNested === true) markNested(this.meta);
  }

  progress(): void {}

  log(level: LogLevel, data: unknown, logger?: string): void {
    this.#log[level]("bus.tool-said", { caller: this.caller.name, logger, data });
  }

  canAsk(): boolean {
    return false;
  }

  async ask(question: Question): Promise<unknown> {
    throw new CannotAsk(question);
  }
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

const nested = new WeakSet<object>();

/** Marks a call as made by a plugin. The mark stays when the context is wrapped. */
function markNested(meta: ToolContext["meta"]): void {
  nested.add(meta);
}

/** Whether a plugin makes the call, possibly while it answers one itself. */
export function isNested({ meta }: Pick<ToolContext, "meta">): boolean {
  return nested.has(meta);
}
