import type { Question } from "../../tool/tool.ts";
import type { JsonObject } from "./client.ts";
import { META } from "./names.ts";
import type { ServerInfo } from "./result.ts";
import { Rounds } from "./rounds.ts";

/** How long a client may take to answer. */
const LIFETIME = 10 * 60_000;

interface Waiting {
  readonly rounds: Rounds<JsonObject>;
  readonly timer: NodeJS.Timeout;
  readonly abort: (reason: Error) => void;
  pause: number;
}

/** A request that may take several rounds. */
export interface Asking {
  readonly method: string;
  readonly params: JsonObject;
  readonly principal: string;
  /** The work itself. Its result is in the client's revision already. */
  readonly work: (ask: (question: Question) => Promise<unknown>) => Promise<JsonObject>;
  readonly abort: (reason: Error) => void;
}

/**
 * Questions to clients of 2026-07-28, which take no requests: the request is answered with
 * `input_required`, the work waits, and the next request that brings the answers goes on with it.
 */
export class InputRequired {
  readonly #server: ServerInfo;
  readonly #waiting = new Map<string, Waiting>();

  constructor(server: ServerInfo) {
    this.#server = server;
  }

  async serve(asking: Asking): Promise<JsonObject> {
    const { params } = asking;
    const given = (params.inputResponses as JsonObject | undefined) ?? {};
    if (typeof params.requestState !== "string") {
      return this.#next(asking, new Rounds(asking.work, given), undefined);
    }
    const { digestOf, expired, openState } = await import("./request-state.ts");
    const digest = digestOf(asking.method, params);
    const state = openState(params.requestState, digest, asking.principal, Date.now());
    const waiting = this.#waiting.get(state.rounds);
    if (waiting?.pause !== state.pause) throw expired();
    waiting.rounds.give(given);
    return this.#next(asking, waiting.rounds, state.rounds);
  }

  async #next(
    asking: Asking,
    rounds: Rounds<JsonObject>,
    id: string | undefined,
  ): Promise<JsonObject> {
    const pause = await rounds.pause();
    if (pause.kind === "done") {
      this.#forget(id);
      return pause.result;
    }
    const { digestOf, sealState } = await import("./request-state.ts");
    const key = id ?? crypto.randomUUID();
    const waiting = this.#keep(key, rounds, asking.abort);
    const requestState = sealState({
      rounds: key,
      pause: waiting.pause,
      digest: digestOf(asking.method, asking.params),
      principal: asking.principal,
      expires: Date.now() + LIFETIME,
    });
    const inputRequests = Object.fromEntries(
      Array.from(pause.questions, ([name, { method, params = {} }]) => [name, { method, params }]),
    );
    const _meta = { [META.serverInfo]: this.#server };
    return { resultType: "input_required", inputRequests, requestState, _meta };
  }

  #keep(id: string, rounds: Rounds<JsonObject>, abort: (reason: Error) => void): Waiting {
    const known = this.#waiting.get(id);
    if (known !== undefined) {
      known.timer.refresh();
      known.pause++;
      return known;
    }
    const timer = setTimeout(() => {
      const late = new Error("The client did not answer in time");
      this.#waiting.delete(id);
      rounds.abandon(late);
      abort(late);
    }, LIFETIME).unref();
    const waiting = { rounds, timer, abort, pause: 1 };
    this.#waiting.set(id, waiting);
    return waiting;
  }

  #forget(id: string | undefined): void {
    if (id === undefined) return;
    clearTimeout(this.#waiting.get(id)?.timer);
    this.#waiting.delete(id);
  }
}
