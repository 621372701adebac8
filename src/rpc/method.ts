import type { Check } from "../base/check.ts";

/** One method of a dialect: its name and the shapes that travel under it. */
export interface Method<P, R> {
  readonly name: string;
  /** Looks at the parameters before any handler does. */
  readonly check?: Check;
  /** Looks at the result before the caller does. */
  readonly checkResult?: Check;
  /** Types only; never present. */
  readonly _?: { readonly params: P; readonly result: R };
}

export function method<P, R = void>(
  name: string,
  checks: { readonly check?: Check; readonly checkResult?: Check } = {},
): Method<P, R> {
  return { name, ...checks };
}
