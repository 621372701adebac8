import { maskAll, maskWhole } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { PermissionKind, PermissionOption } from "../../session/permission/permission.ts";
import type { SessionNotice } from "../../session/notice.ts";
import type { Reason } from "./entries.ts";
import { answerAddress, sessionAddress } from "./session-address.ts";

/** The stored content of a notice. Its words are only sent if that is configured. */
export interface NoticeContent {
  readonly reason: Reason;
  readonly sessionId?: string;
  readonly folder?: string;
  /** The title of the session. */
  readonly about?: string | undefined;
  /** The question of the agent, or why it failed. */
  readonly words?: string | undefined;
  readonly stopReason?: string;
  readonly requestId?: string;
  /** The options that a link may choose. */
  readonly options?: readonly PermissionOption[];
}

/** A notification as commands, webhooks and browsers get it. */
export interface Message {
  /** The same for every attempt and every receiver. */
  readonly id: string;
  readonly reason: Reason;
  readonly time: string;
  readonly title: string;
  readonly session?: string | undefined;
  /** Opens the session in the dashboard; absent while no gateway runs. */
  readonly link?: string | undefined;
  readonly stopReason?: string | undefined;
  /** Buttons: a POST to one of the addresses answers. */
  readonly answers?: readonly { kind: PermissionKind; label: string; url: string }[] | undefined;
  readonly detail?: MessageDetail | undefined;
}

export interface MessageDetail {
  readonly title?: string | undefined;
  readonly folder?: string | undefined;
  readonly words?: string | undefined;
}

const TITLES: Readonly<Record<Reason, string>> = {
  permission: "An agent asks for permission",
  question: "An agent has a question",
  "turn-ended": "A turn has ended",
  failed: "A turn has failed",
  test: "A test notification of Trunkline",
};

/** Labels of our own, since the names of options may have words of the agent. */
const LABELS: Readonly<Record<PermissionKind, string>> = {
  allow_once: "Allow",
  allow_always: "Always allow",
  reject_once: "Reject",
  reject_always: "Always reject",
};

const MOST_OPTIONS = 6;
/** Characters, so that a message fits in a push. */
const LONGEST_WORDS = 300;
const LONGEST_LABEL = 40;

/** The content of a notice that is stored. */
export function contentOf(notice: SessionNotice): NoticeContent {
  const { reason, sessionId, cwd: folder, title: about } = notice;
  const session = { reason, sessionId, folder, about };
  switch (notice.reason) {
    case "permission": {
      const { request, requestId, mayAnswer } = notice;
      const { title } = request.toolCall;
      const words = typeof title === "string" ? cut(title) : undefined;
      const options = mayAnswer ? { options: request.options.slice(0, MOST_OPTIONS) } : {};
      return { ...session, words, requestId, ...options };
    }
    case "question":
      return { ...session, words: notice.message && cut(notice.message) };
    case "turn-ended":
      return { ...session, stopReason: notice.stopReason };
    case "failed":
      return { ...session, words: cut(notice.error) };
  }
}

export interface MessageOptions {
  readonly id: string;
  readonly at: number;
  readonly content: NoticeContent;
  /** Whether words of prompts and agents are sent. */
  readonly detail: boolean;
  /** The address of a running gateway. */
  readonly gateway: string | undefined;
  /** A token for each option, in their order. */
  readonly tokens?: readonly string[] | undefined;
}

export function messageOf({ id, at, content, detail, gateway, tokens }: MessageOptions): Message {
  const { reason, sessionId, folder, about, words, stopReason, options = [] } = content;
  const isLinked = gateway !== undefined && sessionId !== undefined;
  return {
    id,
    reason,
    time: new Date(at).toISOString(),
    title: TITLES[reason],
    session: sessionId,
    link: isLinked ? sessionAddress(gateway, sessionId) : gateway,
    stopReason,
    ...(gateway === undefined || tokens === undefined
      ? {}
      : {
          answers: options.map(({ kind, name }, index) => ({
            kind,
            label: detail ? cut(name, LONGEST_LABEL) : LABELS[kind],
            url: answerAddress(gateway, tokens[index] ?? "", kind),
          })),
        }),
    ...(detail ? { detail: maskAll({ title: about, folder, words }) as MessageDetail } : {}),
  };
}

function cut(text: string, longest = LONGEST_WORDS): string {
  const line = visibleLine(maskWhole(text));
  return line.length <= longest ? line : `${line.slice(0, longest - 1).toWellFormed()}…`;
}
