import type { PermissionRequest } from "./permission/permission.ts";

/** An event of a session that people want to hear of while they are not looking at it. */
export type SessionNotice = NoticedEvent & {
  readonly sessionId: string;
  readonly cwd: string;
  readonly title: string | undefined;
};

export type NoticedEvent =
  | NoticedPermission
  | { readonly reason: "question"; readonly message: string | undefined }
  | NoticedEnd;

export interface NoticedPermission {
  readonly reason: "permission";
  readonly requestId: string;
  readonly request: PermissionRequest;
  /** Whether the owner's answer counts if it comes from elsewhere than the attached clients. */
  readonly mayAnswer: boolean;
}

export type NoticedEnd =
  | { readonly reason: "turn-ended"; readonly stopReason: string }
  | { readonly reason: "failed"; readonly error: string };

export type NoticeReason = SessionNotice["reason"];

/** Receives what happens in sessions. It must not throw, and nobody waits for it. */
export interface NoticeListener {
  noticed(notice: SessionNotice): void;
  /** A permission request needs no answer any more. */
  closed(requestId: string): void;
}
