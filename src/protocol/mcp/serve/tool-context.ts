import { onAbort, type StopSignal } from "../../../base/abort.ts";
import { background } from "../../../base/background.ts";
import type { LogLevel } from "../../../base/log.ts";
import type { Span } from "../../../base/trace.ts";
import type { Call } from "../../../rpc/peer.ts";
import { type Method, request } from "../../../rpc/method.ts";
import { ROOM } from "../../../wire/channel.ts";
import type { Profile } from "../../../tool/profile/profile.ts";
import {
  type Project,
  type Caller,
  CannotAsk,
  type MessageDetails,
  type Question,
  type ToolContext,
} from "../../../tool/tool.ts";
import type { Client, Connection } from "./connection.ts";
import type { JsonObject } from "../json-object.ts";
import { isWanted, toldLevel } from "../log-levels.ts";
import { metaMember, routedOf } from "../meta.ts";
import { EVENTS } from "../methods.ts";
import { canBeAsked, shapeQuestion } from "./question.ts";
import { foldersOf, ROOTS_QUESTION } from "./roots.ts";

/** Sends a question by `input_required`, where the client takes no requests. */
export type QuestionSender = (question: Question) => Promise<unknown>;

/** The context of a tool call for one MCP client. */
export class McpToolContext implements ToolContext {
  readonly caller: Caller;
  readonly session: string | undefined;
  readonly folder: string | undefined;
  /** What the client sees of the offer. */
  readonly profile: Profile | undefined;
  readonly extensions: ToolContext["extensions"];
  project?: Project | undefined;
  span?: Span | undefined;
  call: Call<Connection>;
  /** Aborted when the work is cancelled. */
  signal: StopSignal;
  meta: JsonObject;
  /** It continues as a task: its request has been answered. */
  isTask = false;
  hasProgressed = false;
  /** The id of the task as which the tool's server goes on with the call, once it does. */
  remote: string | undefined;
  readonly #client: Client;
  readonly #rootsTimeout: number;
  #ask: QuestionSender | undefined;
  /** Set for work that spans several requests: cancelling any of them stops it. */
  #controller: AbortController | undefined;
  #remoteKnown: PromiseWithResolvers<string> | undefined;
  #isBehind = false;

  /** `rootsTimeout` is how many milliseconds the client has to answer `roots/list`. */
  constructor(
    client: Client,
    call: Call<Connection>,
    meta: JsonObject,
    options: { readonly profile: Profile | undefined; readonly rootsTimeout: number },
  ) {
    const { id, principal, folder } = call.state;
    this.#client = client;
    this.#rootsTimeout = options.rootsTimeout;
    this.call = call;
    this.signal = call;
    this.meta = meta;
    this.folder = folder;
    this.profile = options.profile;
    if (client.capabilities.extensions !== undefined) {
      this.extensions = routedOf(client.capabilities);
    }
    // In a revision without sessions too, whoever has started us is the same client all the time.
    this.session = client.codec.has.session || folder !== undefined ? id : undefined;
    this.caller = {
      door: "mcp",
      name: principal.name ?? client.name,
      principal,
      client: this.session ?? `mcp ${principal.id} ${client.name}`,
    };
  }

  /** Called when the work may span several requests: from then on, questions are sent through `ask`. */
  askThrough(ask: QuestionSender): void {
    this.#ask = ask;
    if (this.#controller !== undefined) return;
    this.detach();
    onAbort(this.call, (reason) => this.stopped(reason));
  }

  /** Continues under the next request of the same work, whose context is used for this only. */
  follow(next: McpToolContext): void {
    this.call = next.call;
    this.meta = next.meta;
    if (this.#controller !== undefined) onAbort(next.call, (reason) => this.stopped(reason));
  }

  /** From now on, the work no longer depends on the request that began it. */
  detach(): void {
    this.#controller ??= new AbortController();
    this.signal = this.#controller.signal;
  }

  untilRemote(): Promise<string> {
    this.#remoteKnown ??= Promise.withResolvers();
    if (this.remote !== undefined) this.#remoteKnown.resolve(this.remote);
    return this.#remoteKnown.promise;
  }

  remoteTask(taskId: string): void {
    this.remote = taskId;
    this.#remoteKnown?.resolve(taskId);
  }

  stopped(reason: Error): void {
    this.detach();
    this.#controller?.abort(reason);
  }

  progress(progress: number, total?: number, message?: string, more?: MessageDetails): void {
    this.call.progressed();
    // MCP 2025-11-25, basic/utilities/progress § Progress Flow: only where the request has a token.
    const { progressToken } = this.meta;
    if (progressToken === undefined) return;
    const told = this.#client.codec.shapeProgress(progress, total, message);
    this.hasProgressed = true;
    this.#tell(EVENTS.progress, { progressToken, ...told, ...metaMember(more) });
  }

  log(level: LogLevel, data: unknown, logger = "trunkline", more?: MessageDetails): void {
    // In a session the client may have changed its level since the call began.
    const client = this.#client.codec.has.session ? this.call.state.client : this.#client;
    const told = toldLevel(level, more);
    if (!isWanted(told, client.logLevel)) return;
    this.#tell(EVENTS.message, { level: told, logger, data, ...metaMember(more) });
  }

  async roots(): Promise<readonly string[] | undefined> {
    if (!this.canAsk(ROOTS_QUESTION)) return undefined;
    // Without a session each request has roots of its own.
    if (!this.#client.codec.has.session) {
      return this.ask(ROOTS_QUESTION).then(foldersOf, () => undefined);
    }
    const asked = request(ROOTS_QUESTION.method);
    return this.call.state.roots.get(() => {
      return this.call.request(asked, {}, { timeout: this.#rootsTimeout });
    });
  }

  canAsk(question: Question): boolean {
    return canBeAsked(this.#client, question);
  }

  async ask(question: Question): Promise<unknown> {
    if (!this.canAsk(question)) throw new CannotAsk(question);
    const params = shapeQuestion(this.#client, question);
    if (this.#ask !== undefined) return this.#ask({ ...question, params });
    return this.call.request(request(question.method), params, {
      signal: this.signal,
    });
  }

  pageDone(elicitationId: string): void {
    if (!this.#client.codec.has.elicitationComplete) return;
    this.call.notify(EVENTS.pageDone, { elicitationId });
  }

  /** Sends what the client can do without: it is left out while the client reads too slowly. */
  #tell(event: Method<JsonObject, void>, params: JsonObject): void {
    if (this.#isBehind) return;
    // MCP 2026-07-28, basic/transports/streamable-http § Receiving Messages: they precede the answer.
    if ((this.isTask || this.call.isSettled) && this.#client.codec.has.silenceAfterAnswer) return;
    const room = this.call.notify(event, params);
    if (room === ROOM) return;
    this.#isBehind = true;
    background(
      room.then(() => {
        this.#isBehind = false;
      }),
      "Noting that there is room",
    );
  }
}
