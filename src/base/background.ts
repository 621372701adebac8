import type { AsyncLocalStorage } from "node:async_hooks";

import type { LogFields } from "./log.ts";

/** Made when it is first needed: loading async_hooks would slow every start. */
const storage: { of?: AsyncLocalStorage<LogFields> } = {};

/** Runs work with log fields, such as its session. Everything that the work starts inherits them. */
export function belongingTo<T>(fields: LogFields, work: () => T): T {
  if (storage.of === undefined) {
    const hooks = process.getBuiltinModule("node:async_hooks");
    storage.of = new hooks.AsyncLocalStorage();
  }
  return storage.of.run(fields, work);
}

/** The log fields of the running code, set by `belongingTo`; empty outside of it. */
export function whatItBelongsTo(): LogFields {
  return storage.of?.getStore() ?? {};
}

/** The session of the running code. */
export function currentSession(): string | undefined {
  const { session } = whatItBelongsTo();
  return typeof session === "string" ? session : undefined;
}

/** Work in the background has failed. */
export class BackgroundError extends Error {
  override readonly name = "BackgroundError";
  readonly work: string;

  constructor(work: string, cause: unknown) {
    super(`${work} failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.work = work;
  }
}

/**
 * Lets work go on in the background. If it fails, `outliveRejections` logs its name. Work whose failure
 * has consequences needs a handler of its own.
 */
export function background(work: PromiseLike<unknown> | undefined | void, name: string): void {
  work?.then(undefined, (error: unknown) => {
    throw new BackgroundError(name, error);
  });
}
