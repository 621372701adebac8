import { hash } from "node:crypto";

import { TrunklineError } from "../../base/errors.ts";
import type { NoticeReason } from "../../session/notice.ts";
import type { NotificationSettings } from "../../config/schema/schema.gen.ts";

/** Why somebody is notified: what happened in a session, or that a person tries it out. */
export type Reason = NoticeReason | "test";

/** An element of `notifications`, checked. */
export interface NotifyEntry {
  /** Finds it again in another process, or after the configuration has changed. */
  readonly key: string;
  /** For people. */
  readonly name: string;
  readonly how: NotifyMethod;
  readonly detail: boolean;
  /** Milliseconds. */
  readonly timeout: number;
  readonly allowHosts: readonly string[];
  readonly allowPrivate: boolean;
  wants(reason: Reason): boolean;
}

export type NotifyMethod =
  | { readonly kind: "command"; readonly command: string; readonly args: readonly string[] }
  | {
      readonly kind: "webhook";
      readonly url: URL;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly kind: "push" };

/** Seconds. */
const TIMEOUT = 30;

/** Throws "config" at an element that cannot work. */
export function readEntry(settings: NotificationSettings, index: number): NotifyEntry {
  const { on, detail = false, timeout = TIMEOUT, allowHosts = [], allowPrivate = false } = settings;
  const how = howOf(settings, index);
  const name = settings.name ?? `${how.kind} ${index + 1}`;
  return {
    key: settings.name ?? hash("sha256", JSON.stringify(settings)).slice(0, 16),
    name,
    how,
    detail,
    timeout: timeout * 1000,
    allowHosts,
    allowPrivate,
    wants: (reason) => reason === "test" || on === undefined || on.includes(reason),
  };
}

/** The entries that work, and why the others do not. */
export function readEntries(notifications: readonly NotificationSettings[]): {
  readonly entries: readonly NotifyEntry[];
  readonly problems: readonly string[];
} {
  const entries: NotifyEntry[] = [];
  const problems: string[] = [];
  for (const [index, settings] of notifications.entries()) {
    try {
      const entry = readEntry(settings, index);
      if (entries.some(({ key }) => key === entry.key)) {
        throw wrong(index, `there is another one called '${entry.name}'. Give it another \`name\``);
      }
      entries.push(entry);
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  return { entries, problems };
}

function howOf(
  { command, webhook, push, allowPrivate = false }: NotificationSettings,
  index: number,
): NotifyMethod {
  if ([command !== undefined, webhook !== undefined, push === true].filter(Boolean).length !== 1) {
    throw wrong(index, "it needs one of `command`, `webhook` and `push: true`");
  }
  if (command !== undefined) {
    const [program = "", ...args] = command;
    return { kind: "command", command: program, args };
  }
  if (webhook === undefined) return { kind: "push" };
  const url = URL.parse(webhook.url);
  if (url === null) throw wrong(index, `'${webhook.url}' is not an address`);
  if (url.protocol === "http:" && !allowPrivate) {
    const why = "it has links that answer, and would send them in clear text";
    throw wrong(index, `${why}. Use https, or set \`allowPrivate\` for a network of your own`);
  }
  return { kind: "webhook", url, headers: webhook.headers ?? {} };
}

function wrong(index: number, why: string): TrunklineError {
  return new TrunklineError("config", `Cannot use \`notifications[${index}]\`: ${why}.`);
}
