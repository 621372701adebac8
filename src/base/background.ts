import type { AsyncLocalStorage } from "node:async_hooks";

import type { LogFields } from "./log.ts";

/** Made when it is first needed: loading async_hooks would cost every start. */
const belongings: { of?: AsyncLocalStorage<LogFields> } = {};

/** Runs work with fields for the log, such as its session, that all it starts inherits. */
export function belongingTo<T>(fields: LogFields, work: () => T): T {
  if (belongings.of === undefined) {
    const hooks = process.getBuiltinModule("node:async_hooks");
    belongings.of = new hooks.AsyncLocalStorage();
  }
  return belongings.of.run(fields, work);
}

/** The fields of `belongingTo` for the code that runs now; empty outside of it. */
export function whatItBelongsTo(): LogFields {
  return belongings.of?.getStore() ?? {};
}

/** The session that the code belongs to that runs now. */
export function currentSession(): string | undefined {
  const { session } = whatItBelongsTo();
  return typeof session === "string" ? session : undefined;
}

/** Work that nobody waited for has failed. */
export class BackgroundError extends Error {
  override readonly name = "BackgroundError";
  readonly work: string;

  constructor(work: string, cause: unknown) {
    super(`${work} failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.work = work;
  }
}

/**
 * Lets work go on that nobody waits for. Whoever starts it says what it is: should it fail, that is
 * what `outliveRejections` logs. Work whose failure has consequences has a handler of its own.
 */
export function background(work: PromiseLike<unknown> | undefined | void, name: string): void {
  work?.then(undefined, (error: unknown) => {
    throw new BackgroundError(name, error);
  });
}
