import { mayControl, OWNER, type Principal } from "../../base/principal.ts";
import type { SessionClient } from "../client/client.ts";

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
   * The setting by which the person who prompts has accepted this beforehand, such as `mode auto-accept`. If
   * that person's answer would count, nobody is asked.
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

/**
 * What an "always" answer covers. It is a value with named parts: joined to a text, the parts of one
 * subject could read like those of another, and the answer would cover both.
 */
export type PermissionSubject =
  | { readonly action: "edit" }
  | {
      readonly action: "run";
      readonly command: string;
      /** Relative to the workspace. */
      readonly folder: string;
      /** "left": outside, though there is a sandbox. "none": this machine has none. */
      readonly sandbox: "in" | "left" | "none";
    }
  /** `programs` is a digest of what git runs; empty if it runs nothing. */
  | { readonly action: "commit"; readonly programs: string }
  | { readonly action: "connect" | "fetch"; readonly host: string }
  | {
      readonly action: "call";
      readonly tool: string;
      /** The server of the tool; left out for our own tools. */
      readonly server?: string;
      /** The session's own server, which the client named. */
      readonly isBrought?: boolean;
    };

/** The same text for equal subjects, and for no others. */
export function subjectKey(subject: PermissionSubject): string {
  const parts = Object.entries(subject).filter(([, value]) => value !== undefined);
  return JSON.stringify(Object.fromEntries(parts.toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

/** The subject of a key. */
export function subjectOf(key: string): PermissionSubject {
  return JSON.parse(key) as PermissionSubject;
}

/** For people. Never compared. */
export function subjectWords(subject: PermissionSubject): string {
  switch (subject.action) {
    case "edit":
      return "edit files";
    case "run": {
      const where = subject.folder === "." ? "" : ` in ${subject.folder}`;
      const outside = { in: "", left: "outside of the sandbox, ", none: "without a sandbox, " };
      return `${outside[subject.sandbox]}run ${subject.command}${where}`;
    }
    case "commit":
      return subject.programs === "" ? "git commit" : "git commit, with programs of the repository";
    case "connect":
      return `connect to ${subject.host}`;
    case "fetch":
      return `fetch from ${subject.host}`;
    case "call": {
      const of = subject.server === undefined ? "" : `${subject.server}/`;
      return `call ${subject.isBrought === true ? "session server " : ""}${of}${subject.tool}`;
    }
  }
}

/** Whose answers to permission requests and questions count. */
export type AnswerPolicy = "first" | "asker" | "owner";

/** Whoever answers: a client, or a person with a link from a notification. */
export type Answerer = Pick<SessionClient, "name" | "principal" | "observes">;

/** The turn that a request belongs to. */
export interface AskedTurn {
  readonly sessionId: string;
  /** The client whose prompt caused the request. */
  readonly asker: SessionClient | undefined;
  /** The principal of that client, which counts after the client has disconnected. */
  readonly principal: Principal;
}

/**
 * Why an answer does not count; undefined if it does. It depends on how a client has authenticated and on
 * its connection, never on what the client says about itself.
 */
export function answerRefusal(
  policy: AnswerPolicy,
  { sessionId, asker, principal }: AskedTurn,
  who: Answerer,
): string | undefined {
  if (!isController(who, sessionId)) return "you observe this session and cannot answer";
  switch (policy) {
    case "first":
      return undefined;
    case "owner":
      if (who.principal.id === OWNER.id) return undefined;
      return "only the owner of this gateway may answer (`sessions.permissions` is 'owner')";
    case "asker": {
      if (who === asker) return undefined;
      // The client that prompted may have lost its connection. Another one of the same principal replaces it.
      const isReplaced = asker === undefined || asker.isGone;
      if (isReplaced && who.principal.id === principal.id) return undefined;
      const name = asker === undefined ? "" : ` ('${asker.name}')`;
      return `only the client that sent the prompt${name} may answer (\`sessions.permissions\` is 'asker')`;
    }
  }
}

/** Whether a client may prompt, cancel and answer in a session, and not only watch it. */
export function isController(
  { principal, observes }: Pick<SessionClient, "principal" | "observes">,
  sessionId: string,
): boolean {
  return mayControl(principal) && observes?.(sessionId) !== true;
}
