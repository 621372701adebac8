import { nextTurn } from "../../../base/event-loop.ts";
import type { Question } from "../../../tool/tool.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";

/** Where work has stopped: it is done, or it needs answers. */
export type Pause<T> =
  | { readonly kind: "done"; readonly result: T }
  | { readonly kind: "asks"; readonly questions: ReadonlyMap<string, Question> };

interface OpenQuestion {
  readonly question: Question;
  readonly answer: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Work that may pause for answers, over any number of requests. A question with a key of its own may
 * be answered before it is asked: a client may repeat a request together with its answers (MCP
 * 2026-07-28, basic/patterns/mrtr). A question without one gets a number, and must be asked first.
 */
export class Rounds<T> {
  readonly #open = new Map<string, OpenQuestion>();
  readonly #given = new Map<string, unknown>();
  readonly #work: Promise<T>;
  readonly #begun = Promise.withResolvers<void>();
  /** Resolves when the work has asked its first question, or is over without one. */
  readonly begun = this.#begun.promise;
  /** The result, where the work ended synchronously. */
  readonly atOnce: { readonly result: T } | undefined;
  #lastKey = 0;
  #asked: (() => void) | undefined;

  constructor(
    work: (ask: (question: Question) => Promise<unknown>) => T | Promise<T>,
    given: JsonObject = {},
  ) {
    this.give(given);
    const result = work((question) => this.#ask(question));
    this.atOnce = result instanceof Promise ? undefined : { result };
    this.#work = Promise.resolve(result);
    // A failure is reported by the next pause(); until then it is not unhandled.
    const begun = (): void => this.#begun.resolve();
    this.#work.then(begun, begun);
  }

  get questions(): ReadonlyMap<string, Question> {
    return new Map(Array.from(this.#open, ([key, { question }]) => [key, question]));
  }

  /** Answers questions by their keys. Only objects are answers. */
  give(answers: JsonObject): void {
    for (const [key, answer] of Object.entries(answers)) {
      if (!isObject(answer)) continue;
      const open = this.#open.get(key);
      if (open === undefined) {
        this.#given.set(key, answer);
      } else {
        this.#open.delete(key);
        open.answer(answer);
      }
    }
  }

  /** Waits until the work is done or cannot go on without answers. */
  async pause(): Promise<Pause<T>> {
    const asked = Promise.withResolvers<void>();
    this.#asked = asked.resolve;
    if (this.#open.size > 0) asked.resolve();
    const done = this.#work.then((result): Pause<T> => ({ kind: "done", result }));
    const asks = asked.promise.then(async (): Promise<Pause<T>> => {
      // So that questions of one turn are sent together.
      await nextTurn();
      return this.#open.size > 0 ? { kind: "asks", questions: this.questions } : this.pause();
    });
    return Promise.race([done, asks]);
  }

  /** Rejects the open questions: no answers will come. */
  abandon(error: Error): void {
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }

  #ask(question: Question): Promise<unknown> {
    const key = question.key ?? `input-${++this.#lastKey}`;
    this.#begun.resolve();
    if (question.key !== undefined && this.#given.has(key)) {
      const answer = this.#given.get(key);
      this.#given.delete(key);
      return Promise.resolve(answer);
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#open.set(key, { question, answer: resolve, reject });
    this.#asked?.();
    return promise;
  }
}
