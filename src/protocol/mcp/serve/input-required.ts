import type { Question } from "../../../tool/tool.ts";
import type { JsonObject } from "../json-object.ts";
import { META } from "../meta.ts";
import type { Implementation } from "../revision/codec.ts";
import { nextTurn } from "../../../base/event-loop.ts";
import { Rounds } from "./rounds.ts";
import type { McpToolContext } from "./tool-context.ts";
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { STANDARD } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";

/** How long a client may take to answer. */
const LIFETIME = 10 * 60_000;
/** Requests that may wait for answers at once; beyond that, the oldest one is ended. */
const MOST = 1000;

interface PausedWork {
  readonly rounds: Rounds<JsonObject>;
  readonly context: McpToolContext;
  readonly timer: NodeJS.Timeout;
  pause: number;
}

/** A request that may take several round trips. */
export interface ResumableRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly principal: string;
  readonly context: McpToolContext;
  /** The work itself. Its result is shaped for the client's revision. */
  readonly work: (context: McpToolContext) => JsonObject | Promise<JsonObject>;
  /** Turns the work into a task, and returns the answer. */
  readonly goOn?: (rounds: Rounds<JsonObject>, context: McpToolContext) => Promise<JsonObject>;
  /** It becomes a task when its first questions are answered, or when its server makes one of it. */
  readonly goOnWhen?: "asked" | "remote";
}

/**
 * Questions to clients that take no requests (MCP 2026-07-28, basic/patterns/mrtr): the request is
 * answered with `input_required`, the work waits, and the client's next request with the answers
 * continues it.
 */
export class InputRequired {
  readonly #server: Implementation;
  readonly #waiting = new Map<string, PausedWork>();

  constructor(server: Implementation) {
    this.#server = server;
  }

  serve(asking: ResumableRequest): JsonObject | Promise<JsonObject> {
    const { params, context, work } = asking;
    const given = (params.inputResponses as JsonObject | undefined) ?? {};
    if (typeof params.requestState === "string") {
      return this.#resume(asking, params.requestState, given);
    }
    const rounds = new Rounds((ask: (question: Question) => Promise<unknown>) => {
      context.askThrough(ask);
      return work(context);
    }, given);
    return rounds.atOnce?.result ?? this.#next(asking, rounds, context, undefined);
  }

  async #resume(
    asking: ResumableRequest,
    requestState: string,
    given: JsonObject,
  ): Promise<JsonObject> {
    const digest = digestOf(asking.method, asking.params);
    const state = openState(requestState, digest, asking.principal, Date.now());
    const waiting = this.#waiting.get(state.rounds);
    if (waiting?.pause !== state.pause) throw expired();
    const { rounds, context } = waiting;
    context.follow(asking.context);
    rounds.give(given);
    return this.#next(asking, rounds, context, state.rounds);
  }

  async #next(
    asking: ResumableRequest,
    rounds: Rounds<JsonObject>,
    context: McpToolContext,
    id: string | undefined,
  ): Promise<JsonObject> {
    const result = await this.#progress(asking, rounds, context).catch((error: unknown) => {
      this.#forget(id);
      throw error;
    });
    if (result !== undefined) {
      this.#forget(id);
      return result;
    }
    const key = id ?? crypto.randomUUID();
    const requestState = sealState({
      rounds: key,
      pause: this.#keep(key, rounds, context).pause,
      digest: digestOf(asking.method, asking.params),
      principal: asking.principal,
      expires: Date.now() + LIFETIME,
    });
    const inputRequests = Object.fromEntries(
      Array.from(rounds.questions, ([name, { method, params = {} }]) => [name, { method, params }]),
    );
    const _meta = { [META.serverInfo]: this.#server };
    return { resultType: "input_required", inputRequests, requestState, _meta };
  }

  /** The result, or undefined where the client must be asked first. */
  async #progress(
    { goOn, goOnWhen }: ResumableRequest,
    rounds: Rounds<JsonObject>,
    context: McpToolContext,
  ): Promise<JsonObject | undefined> {
    if (goOn !== undefined && goOnWhen === "remote") {
      const isTask = context.untilRemote().then(() => undefined);
      const pause = await Promise.race([isTask, rounds.pause()]);
      if (pause === undefined) return await goOn(rounds, context);
      return pause.kind === "done" ? pause.result : undefined;
    }
    if (goOn !== undefined) {
      await rounds.begun;
      await nextTurn();
      return rounds.questions.size > 0 ? undefined : await goOn(rounds, context);
    }
    const pause = await rounds.pause();
    return pause.kind === "done" ? pause.result : undefined;
  }

  #keep(id: string, rounds: Rounds<JsonObject>, context: McpToolContext): PausedWork {
    const known = this.#waiting.get(id);
    if (known !== undefined) {
      known.timer.refresh();
      known.pause++;
      return known;
    }
    if (this.#waiting.size >= MOST) this.#giveUp(this.#waiting.keys().next().value);
    const timer = setTimeout(() => this.#giveUp(id), LIFETIME).unref();
    const waiting = { rounds, context, timer, pause: 1 };
    this.#waiting.set(id, waiting);
    return waiting;
  }

  #giveUp(id: string | undefined): void {
    const waiting = this.#waiting.get(id ?? "");
    if (waiting === undefined) return;
    const late = new Error("The client did not answer in time");
    this.#forget(id);
    waiting.rounds.abandon(late);
    waiting.context.stopped(late);
  }

  #forget(id: string | undefined): void {
    if (id === undefined) return;
    clearTimeout(this.#waiting.get(id)?.timer);
    this.#waiting.delete(id);
  }
}

/**
 * The content of `requestState`. It comes back through the client, so it is signed (MCP 2026-07-28,
 * basic/patterns/mrtr § Server Requirements).
 */
interface State {
  /** The key of the work that waits. */
  readonly rounds: string;
  /** Counts the questions of that work: an earlier state is not accepted again. */
  readonly pause: number;
  /** The request that they belong to. */
  readonly digest: string;
  readonly principal: string;
  readonly expires: number;
}

const KEY = randomBytes(32);

export function sealState(state: State): string {
  const body = Buffer.from(JSON.stringify(state)).toString("base64url");
  return `${body}.${sign(body)}`;
}

/** Verifies signature, request, principal and expiry, and returns the state. */
export function openState(text: string, digest: string, principal: string, now: number): State {
  const dot = text.indexOf(".");
  const body = text.slice(0, Math.max(dot, 0));
  const signature = text.slice(dot + 1);
  const expected = Buffer.from(sign(body));
  const given = Buffer.from(signature);
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) {
    throw refused("was not made here, or was changed");
  }
  const state = JSON.parse(Buffer.from(body, "base64url").toString()) as State;
  if (state.digest !== digest) throw refused("belongs to another request");
  if (state.principal !== principal) throw refused("belongs to another client");
  if (state.expires < now) throw expired();
  return state;
}

/** A digest of the method and the parameters, without what differs between round trips. */
export function digestOf(method: string, params: JsonObject): string {
  const { _meta, inputResponses: _, requestState: __, ...rest } = params;
  return createHash("sha256")
    .update(JSON.stringify([method, rest]))
    .digest("base64url");
}

function sign(body: string): string {
  return createHmac("sha256", KEY).update(body).digest("base64url");
}

/** The error for work that is over or was given up. */
export function expired(): RpcError {
  return refused("has expired; call again without it");
}

function refused(why: string): RpcError {
  return RpcError.of(STANDARD.invalidParams, `'params.requestState' ${why}`);
}
