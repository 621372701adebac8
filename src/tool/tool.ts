import type { Stop, StopListener } from "../base/stop.ts";
import type { Principal, Scope } from "../base/principal.ts";
import type { LogLevel } from "../base/log.ts";
import type { Span } from "../base/trace.ts";
import type { Profile } from "./profile/profile.ts";
import type { Project, ProjectUse } from "./project.ts";

/** JSON Schema as a tool declares it, of any draft; kept as it came. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One piece of what a tool answers: text, image, audio, resource or a link to one. */
export type Content = { readonly type: string } & Readonly<Record<string, unknown>>;

/** What a tool is, to whoever may call it. Members nobody here knows are kept. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

export interface ToolResult {
  readonly content: readonly Content[];
  readonly structuredContent?: unknown;
  /** The tool could not do it; the content tells a model what to do about that. */
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** Whose a tool is, and what it is called there. */
export interface ToolSource {
  /** The name that the configuration gives the server. */
  readonly server: string;
  readonly name: string;
}

/** A task of another server as which it goes on with a call. */
export interface RemoteTask {
  /** The tool that was called, by its name here. */
  readonly tool: string;
  readonly server: string;
  readonly taskId: string;
}

/** Something that is called once and answers. */
export interface Tool {
  readonly definition: ToolDefinition;
  /** Set on another server's tool, which is then held when it changes. */
  readonly source?: ToolSource;
  /** Who brings it, for people to see. */
  readonly bringer?: string;
  /**
   * Whether it may or must run as a task, which goes on after the call has been answered. "if-asked":
   * only where the client asks for a task.
   */
  readonly task?: "if-asked" | "optional" | "required";
  /** A tool that runs as a task, and asks its questions before the task is created. */
  readonly asksFirst?: boolean;
  readonly limits?: ToolLimits;
  /** What a caller's token has to be good for; `tools` where it is left out. */
  readonly scope?: Scope;
  /** Set on a tool that works on a project: how a call says which one it means. */
  readonly project?: ProjectUse;
  /** Its arguments are checked where it runs, in the words of whoever runs it. */
  readonly checksItself?: boolean;
  call(args: Arguments, context: ToolContext): ToolResult | Promise<ToolResult>;
  /** Passes a call on, to be told only its answer. False where the tool has to be called. */
  readonly pass?: (passed: PassedCall, args: Arguments) => boolean;
  /**
   * Waits for the result of a call that its server works on as a task, also if it was another process
   * that began the call. Only there where the server outlives us.
   */
  resume?(taskId: string, context: ToolContext): Promise<ToolResult>;
}

/** A call that is passed on. What most calls never need is made when it is asked for. */
export interface PassedCall {
  /** Tells its client from others. */
  readonly client: string;
  /** What it has in common with the other calls of its lane. */
  readonly seat: Pick<ToolContext, "caller" | "session" | "project">;
  /** The arguments as text. */
  readonly json: string;
  readonly args: Arguments;
  /** What came beside the arguments; undefined where nothing did. */
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  readonly context: ToolContext;
  /** Whom to tell, once, if the call is called off before it is answered. */
  onStop(listener: StopListener): void;
  /** Its result, as JSON of one text (`TextResult`). */
  answered(result: string, isError: boolean): void;
  /** Its result is this text. */
  said(text: string): void;
  /** Goes on as a call that was not passed on: it failed, or its result is of another kind. */
  becomes(result: Promise<ToolResult>): void;
}

export interface ToolLimits {
  /** Milliseconds without progress. */
  readonly timeout?: number;
  /** Calls of one caller in a window. */
  readonly rate?: { readonly limit: number; readonly windowMs: number };
}

/** Who calls: a door, the program behind it as far as it gave a name, and whom it works for. */
export interface Caller {
  readonly door: string;
  readonly name: string;
  readonly principal: Principal;
  /**
   * Tells one client from another. It stands for one connection or session; where each request
   * speaks for itself (MCP 2026-07-28), for the principal and the name that the request gives.
   */
  readonly client: string;
}

/** A question to the side that called: a form for its user, a completion of its model, its roots. */
export interface Question {
  /** Names the question among others of the same call; chosen by the door when left out. */
  readonly key?: string;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** What a tool may do while it runs. */
export interface ToolContext {
  readonly caller: Caller;
  readonly session?: string | undefined;
  /** What the caller sees of the offer, and what it may call; everything where it is left out. */
  readonly profile?: Profile | undefined;
  /** The folder that the caller works in, where its door knows it without asking. */
  readonly folder?: string | undefined;
  /** The folders that the client says it works in, absolute. Undefined where it does not say. */
  roots?(): Promise<readonly string[] | undefined>;
  /** The same where it is known already, or that it does not say: no folders. Undefined where it has to be asked. */
  knownRoots?(): readonly string[] | undefined;
  /** What the call is about. The toolbox sets it, once, before the policy decides. */
  project?: Project | undefined;
  /** The result is only passed on: it may be one that was not parsed (`TextResult`). */
  readonly takesUnparsed?: boolean;
  /** The span of the call or of its present part. The toolbox sets it where calls are traced. */
  span?: Span | undefined;
  /** The call is answered before the tool is done. */
  readonly isTask?: boolean;
  /** Comes when the caller cancels, the time is up or the connection dies. */
  readonly stop: Stop;
  /** The stop's signal. */
  readonly signal: AbortSignal;
  /** What came beside the arguments, as it came. */
  readonly meta: Readonly<Record<string, unknown>>;
  progress(done: number, total?: number, message?: string): void;
  log(level: LogLevel, data: unknown, logger?: string): void;
  /** Takes a part of the answer ahead of the rest. Only there where the caller wants parts. */
  piece?(data: Uint8Array, contentType: string): Promise<void>;
  /** Whether the caller's side can be asked this. */
  canAsk(question: Question): boolean;
  /** Asks the caller's side and waits. Rejects with `CannotAsk` when it cannot be asked. */
  ask(question: Question): Promise<unknown>;
  /** The server of the tool goes on with the call as a task of its own, which has this id there. */
  remoteTask?(taskId: string): void;
  /** Tells the caller's side that a page it was asked to show is done with, during the call or later. */
  pageDone?(id: string): void;
}

/** The caller's side does not take such questions. A door says so in its own way. */
export class CannotAsk extends Error {
  override readonly name = "CannotAsk";
  readonly question: Question;

  constructor(question: Question) {
    super(`The client cannot be asked: it does not support ${question.method}`);
    this.question = question;
  }
}

/** A failure that is not the tool's result but the protocol's, such as another server's error. */
export class ToolFault extends Error {
  override readonly name = "ToolFault";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The code of what was interrupted, as `rpc/codes.ts` has it. */
const INTERRUPTED = -32035;

/** The fault of a task whose server is not there any more after a restart. */
export function lostTask({ tool, server }: RemoteTask): ToolFault {
  const why = `MCP server '${server}' does not offer '${tool}' any more`;
  return new ToolFault(
    INTERRUPTED,
    `Trunkline was restarted while the task was working, and ${why}.`,
  );
}

/** An answer of one text. */
export function textResult(text: string): ToolResult {
  return { content: [{ type: "text", text }] };
}

/** A failure that the model can act on. */
export function errorResult(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/**
 * The member of a result's `_meta` that names the kind of a failure, where a tool knows one. Most
 * doors pass it on; one whose protocol has codes for such kinds answers with those.
 */
export const FAULT_META = "trunkline/fault";

/** The kind of a call that was refused for its arguments, by their schema. */
export const INVALID_ARGUMENTS = "invalid-arguments";
