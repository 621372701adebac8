import type { Span } from "../base/trace.ts";
import type { AuditEntry } from "./audit.ts";
import type { Arguments, Tool, ToolContext, ToolResult } from "./tool.ts";

/** A call that the toolbox makes. */
export interface ObservedCall {
  readonly name: string;
  readonly args: Arguments;
  /** The arguments as the caller gave them, if they are sent differently. */
  readonly given?: Arguments;
  readonly context: ToolContext;
  /** Undefined where there is no such tool. */
  readonly tool: Tool | undefined;
}

export interface CallEnd {
  readonly outcome: Exclude<AuditEntry["outcome"], "begun">;
  /** Why, when it is not ok. */
  readonly reason: string | undefined;
  readonly milliseconds: number;
  readonly result: ToolResult | undefined;
}

/** A resource or a prompt that somebody asks for. */
export interface ObservedRequest {
  readonly method: "resources/read" | "prompts/get";
  /** Its URI, or its name. */
  readonly name: string;
  readonly context: ToolContext;
}

/** A request that we have sent to another MCP server. */
export interface SentRequest {
  /** The name of the server in the configuration. */
  readonly server: string;
  readonly method: string;
  /** The tool that it calls, by the server's name of it. */
  readonly tool: string | undefined;
  readonly milliseconds: number;
  /** The failure, in a word; undefined on success. */
  readonly error: string | undefined;
}

/** A session of MCP that is over. */
export interface EndedSession {
  /** Our role in it. */
  readonly as: "client" | "server";
  /** The other side, where that is a server of the configuration. */
  readonly server?: string | undefined;
  readonly revision: string;
  readonly milliseconds: number;
}

/** Observes calls: for traces, histograms and the request log. It must not throw. */
export interface CallObserver {
  /** A call has begun. Returns its span, where it is traced. */
  begun?(call: ObservedCall): Span | undefined;
  /** A resource or a prompt is asked for. Returns the span, where it is traced. */
  asked?(request: ObservedRequest): Span | undefined;
  ended(call: ObservedCall, end: CallEnd): void;
  /** Left out where nobody counts requests to other servers. */
  readonly sent?: ((request: SentRequest) => void) | undefined;
  sessionOver?(session: EndedSession): void;
}
