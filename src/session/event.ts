import type { ContentBlock, SessionUpdate, StopReason } from "./agent.ts";
import type { PermissionOutcome, PermissionRequest } from "./permission/permission.ts";

/** One event of a session, as the log stores it. */
export type SessionEvent =
  | {
      readonly kind: "prompt";
      readonly turnId: string;
      readonly prompt: readonly ContentBlock[];
      readonly by: string;
      /** The client that sent it, see SessionClient. */
      readonly origin?: string | undefined;
      /** The turn's id where it is left out. */
      readonly messageId?: string;
      /** The prompt joined a running turn. */
      readonly steers?: true;
    }
  | UpdateEvent
  | {
      readonly kind: "permission";
      readonly turnId: string;
      readonly requestId: string;
      readonly request: PermissionRequest;
    }
  /** `by` names the client, or the rule, that answered. */
  | {
      readonly kind: "answer";
      readonly requestId: string;
      readonly outcome: PermissionOutcome;
      readonly by: string;
    }
  | ({ readonly kind: "setting" } & ChosenSetting)
  | EndEvent;

/** Belongs to the turn that is running, if there is one. */
export interface UpdateEvent {
  readonly kind: "update";
  readonly update: SessionUpdate;
}

/** A choice that was just made: `id` is the mode or model, or the option that gets `value`. */
export interface ChosenSetting {
  readonly setting: "mode" | "model" | "option";
  readonly id: string;
  readonly value?: unknown;
}

export interface EndEvent {
  readonly kind: "end";
  readonly turnId: string;
  /** `interrupted`: the process died, or the agent failed, before the turn had an end. */
  readonly stopReason: StopReason | "interrupted";
  readonly error?: string;
  readonly usage?: Readonly<Record<string, unknown>> | undefined;
}

/** An event with its number in the log. */
export interface StoredEvent {
  readonly seq: number;
  readonly at: number;
  readonly direction: "client" | "agent";
  readonly message: unknown;
}

/** One event of a session, as a person or a program reads it. */
export interface SessionEntry extends Pick<StoredEvent, "seq" | "direction"> {
  readonly at: string;
  readonly event: SessionEvent;
}

export function entryOf({ seq, at, direction, message }: StoredEvent): SessionEntry {
  return { seq, at: new Date(at).toISOString(), direction, event: message as SessionEvent };
}

/** Which side caused an event. */
export function directionOf({ kind }: SessionEvent): "client" | "agent" {
  return ["prompt", "answer", "setting"].includes(kind) ? "client" : "agent";
}
