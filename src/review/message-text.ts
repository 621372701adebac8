import type { Message } from "../store/review/review-thread.ts";

/** What is said where there is nothing to say. */
const NO_MESSAGES = "No new messages from lazygit";

const SEPARATOR = `\n\n${"-".repeat(50)}\n\n`;

/** Where a message's lines are by now. */
export interface LocatedMessage {
  readonly message: Message;
  readonly path: string;
  readonly line?: number | undefined;
  /** The lines that it is on are not there any more. */
  readonly isGone?: boolean | undefined;
}

/** Messages as lazygit-mcp-bridge writes them, in one text. */
export function messagesText(messages: readonly LocatedMessage[]): string {
  if (messages.length === 0) return NO_MESSAGES;
  return messages.map(messageText).join(SEPARATOR);
}

function messageText({ message, path, line, isGone }: LocatedMessage, index: number): string {
  const { anchor, text, at, suggestion } = message;
  // The line is where it is now; of one that is gone, where it was, with what stood there.
  const shown = line ?? anchor.line;
  const said = [text, ...notes(message, isGone === true)].join("\n\n");
  return [
    `Message ${index + 1}:`,
    `File: ${path}`,
    ...(shown === undefined ? [] : [`Line: ${shown}`]),
    `Comment: ${said}`,
    ...(suggestion === undefined ? [] : ["Suggestion:", ...suggestion.lines]),
    `Time: ${timeText(at)}`,
    "",
    "Please improve this code.",
  ].join("\n");
}

function notes({ anchor }: Message, isGone: boolean): string[] {
  const { quote = [], side } = anchor;
  if (side === "old") return [`(On what was removed: ${quote.join("\n")})`];
  return isGone ? [`(That line is gone; it was: ${quote.join("\n")})`] : [];
}

/** Whether something is a moment that `timeText` can say. */
export function isTime(at: unknown): at is number {
  return Number.isSafeInteger(at) && !Number.isNaN(new Date(at as number).getTime());
}

/** To the second, as the original has it. */
export function timeText(at: number): string {
  return new Date(at).toISOString().replace(/\.\d{3}Z$/, "Z");
}
