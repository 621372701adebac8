import { isId } from "../../rpc/message/id.ts";
import type { Trace } from "../../rpc/peer-options.ts";
import { objectOf } from "./json-object.ts";

/** Has the log say of answers, too, which session they are of: only their requests know. */
export class SessionTrace implements Trace {
  readonly #trace: Trace;
  readonly #asked = new Map<unknown, unknown>();

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  received(message: unknown): void {
    const { id, method, params } = objectOf(message);
    const { sessionId } = objectOf(params);
    // What is no id is answered without one, and would be kept for good.
    if (method !== undefined && isId(id) && sessionId !== undefined) this.#asked.set(id, sessionId);
    this.#trace.received(message);
  }

  sent(text: string): void {
    const { id, method } = JSON.parse(text) as { id?: unknown; method?: unknown };
    const session = method === undefined ? this.#asked.get(id) : undefined;
    if (session !== undefined) this.#asked.delete(id);
    this.#trace.sent(text, session);
  }
}
