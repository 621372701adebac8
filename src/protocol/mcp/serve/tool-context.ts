import { background } from "../../../base/background.ts";
import { type Stop, Stopper, type StopListener } from "../../../base/stop.ts";
import type { LogLevel } from "../../../base/log.ts";
import type { Span } from "../../../base/trace.ts";
import type { Call } from "../../../rpc/call.ts";
import { type Method, method } from "../../../rpc/method.ts";
import { ROOM } from "../../../wire/channel.ts";
import type { Profile } from "../../../tool/profile/profile.ts";
import type { Project } from "../../../tool/project.ts";
import { type Caller, CannotAsk, type Question, type ToolContext } from "../../../tool/tool.ts";
import type { Client } from "./client.ts";
import type { JsonObject } from "../json-object.ts";
import type { Connection } from "./connection.ts";
import { isWanted, MCP_LEVELS } from "../log-levels.ts";
import { EVENTS } from "../methods.ts";
import { canBeAsked, shapeQuestion } from "./question.ts";
import { foldersOf, ROOTS_QUESTION } from "./roots.ts";

/** Sends a question by `input_required`, where the client takes no requests. */
export type Ask = (question: Question) => Promise<unknown>;

/** Whom a tool works for: the same for all calls of a client that sees the same of the offer. */
export interface CallerContext {
  readonly client: Client;
  readonly caller: Caller;
  readonly session: string | undefined;
  readonly folder: string | undefined;
  /** What the client sees of the offer. */
  readonly profile: Profile | undefined;
  /** Milliseconds for the answer to `roots/list`. */
  readonly rootsTimeout: number;
}

export function callerContextOf(
  client: Client,
  { id, principal, folder }: Connection,
  options: Pick<CallerContext, "profile" | "rootsTimeout">,
): CallerContext {
  const { name = client.name } = principal;
  // In a revision without sessions too, whoever has started us is the same client all the time.
  const session = client.codec.has.session || folder !== undefined ? id : undefined;
  const caller: Caller = {
    door: "mcp",
    name,
    principal,
    client: session ?? `mcp ${principal.id} ${client.name}`,
  };
  return { client, caller, session, folder, ...options };
}

/** A request that a tool works for. */
export interface Requested {
  readonly call: Call<Connection>;
}

/** The same, or what makes its call when it is first asked for. */
type Request = Requested | (() => Requested);

/** What is known of work that is more than a question and an answer. */
interface LongWork {
  ask?: Ask;
  /** Set for work that spans several requests: cancelling any of them stops it. */
  stopper?: Stopper;
  remote?: string;
  remoteKnown?: PromiseWithResolvers<string>;
  isTask: boolean;
  hasProgressed: boolean;
  isBehind: boolean;
}

/** That of most calls: a context is made for each call, so it has few members. */
const NO_WORK: Readonly<LongWork> = { isTask: false, hasProgressed: false, isBehind: false };

/** What a tool may do while it runs, towards one MCP client. */
export class McpToolContext implements ToolContext, StopListener {
  project?: Project | undefined;
  span?: Span | undefined;
  readonly #callerContext: CallerContext;
  #meta: JsonObject;
  #request: Request;
  #work = NO_WORK;

  constructor(callerContext: CallerContext, request: Request, meta: JsonObject) {
    this.#callerContext = callerContext;
    this.#request = request;
    this.#meta = meta;
  }

  /** That of a further request by the same client. */
  ofNext(request: Request, meta: JsonObject): McpToolContext {
    return new McpToolContext(this.#callerContext, request, meta);
  }

  get caller(): Caller {
    return this.#callerContext.caller;
  }

  get session(): string | undefined {
    return this.#callerContext.session;
  }

  get folder(): string | undefined {
    return this.#callerContext.folder;
  }

  get profile(): Profile | undefined {
    return this.#callerContext.profile;
  }

  get call(): Call<Connection> {
    if (typeof this.#request === "function") this.#request = this.#request();
    return this.#request.call;
  }

  get #long(): LongWork {
    if (this.#work === NO_WORK) this.#work = { ...NO_WORK };
    return this.#work;
  }

  get #client(): Client {
    return this.#callerContext.client;
  }

  get meta(): JsonObject {
    return this.#meta;
  }

  get hasProgressed(): boolean {
    return this.#work.hasProgressed;
  }

  get takesUnparsed(): boolean {
    return !this.isTask && this.#client.codec.has.plainResults;
  }

  get isTask(): boolean {
    return this.#work.isTask;
  }

  get stop(): Stop {
    return this.#work.stopper ?? this.call;
  }

  get signal(): AbortSignal {
    return this.stop.signal;
  }

  /** The work may span several requests: questions go through `ask`, and `stopped` ends it. */
  askThrough(ask: Ask): void {
    const work = this.#long;
    work.ask = ask;
    if (work.stopper !== undefined) return;
    work.stopper = new Stopper();
    this.call.add(this);
  }

  /** Continues under the next request of the same work, whose context is used for this only. */
  follow(next: McpToolContext): void {
    this.#request = next.#request;
    this.#meta = next.#meta;
    if (this.#work.stopper !== undefined) next.call.add(this);
  }

  /** The work goes on whatever becomes of the request that has begun it. */
  detach(): void {
    this.#long.stopper ??= new Stopper();
  }

  /** The id of the task as which the tool's server goes on with the call, once it does. */
  get remote(): string | undefined {
    return this.#work.remote;
  }

  untilRemote(): Promise<string> {
    const work = this.#long;
    work.remoteKnown ??= Promise.withResolvers();
    if (work.remote !== undefined) work.remoteKnown.resolve(work.remote);
    return work.remoteKnown.promise;
  }

  remoteTask(taskId: string): void {
    this.#long.remote = taskId;
    this.#long.remoteKnown?.resolve(taskId);
  }

  /** Continues as a task: its request has been answered. */
  becomeTask(): void {
    this.#long.isTask = true;
  }

  stopped(reason: Error): void {
    (this.#long.stopper ??= new Stopper()).stop(reason);
  }

  progress(progress: number, total?: number, message?: string): void {
    this.call.progressed();
    // MCP 2025-11-25, basic/utilities/progress § Progress Flow: only where the request has a token.
    const { progressToken } = this.meta;
    if (progressToken === undefined) return;
    const told = this.#client.codec.shapeProgress(progress, total, message);
    this.#long.hasProgressed = true;
    this.#tell(EVENTS.progress, { progressToken, ...told });
  }

  log(level: LogLevel, data: unknown, logger = "trunkline"): void {
    // In a session the client may have changed its level since the call began.
    const client = this.#client.codec.has.session ? this.call.state.client : this.#client;
    if (isWanted(level, client.logLevel))
      this.#tell(EVENTS.message, { level: MCP_LEVELS[level], logger, data });
  }

  async roots(): Promise<readonly string[] | undefined> {
    if (!this.canAsk(ROOTS_QUESTION)) return undefined;
    // Without a session each request has roots of its own.
    if (!this.#client.codec.has.session) {
      return this.ask(ROOTS_QUESTION).then(foldersOf, () => undefined);
    }
    const asked = method<JsonObject, unknown>(ROOTS_QUESTION.method);
    return this.call.state.roots.get(() => {
      return this.call.request(asked, {}, { timeout: this.#callerContext.rootsTimeout });
    });
  }

  knownRoots(): readonly string[] | undefined {
    if (!this.canAsk(ROOTS_QUESTION)) return [];
    return this.#client.codec.has.session ? this.call.state.roots.known : undefined;
  }

  canAsk(question: Question): boolean {
    return canBeAsked(this.#client, question);
  }

  async ask(question: Question): Promise<unknown> {
    if (!this.canAsk(question)) throw new CannotAsk(question);
    const params = shapeQuestion(this.#client, question);
    if (this.#work.ask !== undefined) return this.#work.ask({ ...question, params });
    return this.call.request(method<JsonObject, unknown>(question.method), params, {
      stop: this.stop,
    });
  }

  pageDone(elicitationId: string): void {
    if (!this.#client.codec.has.elicitationComplete) return;
    this.call.notify(EVENTS.pageDone, { elicitationId });
  }

  /** Sends what the client can do without: it is left out while the client reads too slowly. */
  #tell(event: Method<JsonObject, void>, params: JsonObject): void {
    if (this.#work.isBehind) return;
    // MCP 2026-07-28, basic/transports/streamable-http § Receiving Messages: they precede the answer.
    const isAnswered = this.isTask || this.call.isSettled;
    if (isAnswered && this.#client.codec.has.silenceAfterAnswer) return;
    const room = this.call.notify(event, params);
    if (room === ROOM) return;
    this.#long.isBehind = true;
    background(
      room.then(() => {
        this.#long.isBehind = false;
      }),
      "Noting that there is room",
    );
  }
}
