import type { Question } from "../../../tool/tool.ts";
import { isObject, type JsonObject } from "../json-object.ts";

/** Work went as far as it could: it is done, or it needs answers. */
export type Pause<T> =
  | { readonly kind: "done"; readonly result: T }
  | { readonly kind: "asks"; readonly questions: ReadonlyMap<string, Question> };

interface Open {
  readonly question: Question;
  readonly answer: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Work that may stop to ask and goes on when it is answered, however many requests that takes. A
 * question that its tool has named may be answered before it is asked (MCP 2026-07-28, "Multi Round-
 * Trip Requests": a client may have lost the request that it was asked in). One that has no name of
 * its own, or one that nobody can know, is answered only by who was asked.
 */
export class Rounds<T> {
  readonly #open = new Map<string, Open>();
  readonly #given = new Map<string, unknown>();
  readonly #work: Promise<T>;
  readonly #begun = Promise.withResolvers<void>();
  /** What the work came to, where it did not have to wait for anything. */
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
    // Whoever waits for the next pause hears of a failure; until then nobody does.
    const begun = (): void => this.#begun.resolve();
    this.#work.then(begun, begun);
  }

  /** Resolves when the work has asked its first question, or is over without one. */
  get begun(): Promise<void> {
    return this.#begun.promise;
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
      await turn();
      return this.#open.size > 0 ? { kind: "asks", questions: this.questions } : this.pause();
    });
    return Promise.race([done, asks]);
  }

  /** Nobody will answer any more. */
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

/** Questions that are asked together go out together; answers just given may end the work. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
