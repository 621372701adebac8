import type { Check } from "../base/check.ts";

/** One method of a dialect: its name and the shapes that travel under it. */
export interface Method<P, R> {
  readonly name: string;
  /** Checks the parameters before a handler gets them. */
  readonly check?: Check;
  /** Checks the result before the caller gets it. */
  readonly checkResult?: Check;
  /** Types only; never present. */
  readonly _?: { readonly params: P; readonly result: R };
}

type JsonObject = Readonly<Record<string, unknown>>;

/** A method with an answer, and the checks of what travels under it. */
export function request<P = JsonObject, R = unknown>(
  name: string,
  check?: Check<P>,
  checkResult?: Check<R>,
): Method<P, R> {
  return { name, ...(check && { check }), ...(checkResult && { checkResult }) };
}

/** A method without an answer. */
export function notification<P = JsonObject>(name: string, check?: Check<P>): Method<P, void> {
  return request<P, void>(name, check);
}
