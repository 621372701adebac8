import type { PermissionSubject } from "./subject.ts";

/** The parameters of `session/request_permission` without the session id. */
export interface PermissionRequest {
  readonly toolCall: Readonly<Record<string, unknown>> & { readonly toolCallId: string };
  readonly options: readonly PermissionOption[];
  /**
   * What an "always" answer is remembered for in this workspace. Without a subject the answer is not
   * remembered, since it would not be clear what was allowed.
   */
  readonly subject?: PermissionSubject;
  /**
   * The setting by which the person who prompts has accepted this beforehand, such as `mode auto-accept`.
   * Nobody is asked, if that person's answer would count.
   */
  readonly acceptedBy?: string;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export interface PermissionOption {
  readonly optionId: string;
  readonly name: string;
  readonly kind: PermissionKind;
}

export type PermissionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always";

export type PermissionOutcome =
  | { readonly outcome: "cancelled" }
  | { readonly outcome: "selected"; readonly optionId: string; readonly kind: PermissionKind };
