import { visibleLine } from "../base/text/visible.ts";
import type { Message } from "../store/review/review-thread.ts";
import { NO_MESSAGES } from "./tool-definitions.ts";

const SEPARATOR = `\n\n${"-".repeat(50)}\n\n`;

/** A message with the current position of its lines. */
export interface LocatedMessage {
  readonly message: Message;
  readonly path: string;
  readonly line?: number | undefined;
  /** The commented lines are gone. */
  readonly isGone?: boolean | undefined;
  readonly isRepositoryGone?: boolean | undefined;
}

/** Messages as one text (lazygit-mcp-bridge, "Message Format in Responses"). */
export function messagesText(messages: readonly LocatedMessage[]): string {
  return messages.length === 0 ? NO_MESSAGES : messages.map(messageText).join(SEPARATOR);
}

function messageText(located: LocatedMessage, index: number): string {
  const { message, path, line } = located;
  const { anchor, text, at, suggestion } = message;
  // The current line; if it is gone, the former line and its text.
  const shown = line ?? anchor.line;
  const said = [text, ...notes(located)].join("\n\n");
  return [
    `Message ${index + 1}:`,
    // A name with line breaks in it must not look like another line of the message.
    `File: ${visibleLine(path)}`,
    ...(shown === undefined ? [] : [`Line: ${shown}`]),
    `Comment: ${said}`,
    ...(suggestion === undefined ? [] : ["Suggestion:", ...suggestion.lines]),
    `Time: ${timeText(at)}`,
    "",
    "Please improve this code.",
  ].join("\n");
}

function notes({ message, isGone, isRepositoryGone }: LocatedMessage): string[] {
  const { anchor, repository } = message;
  const { quote = [], side } = anchor;
  if (isRepositoryGone === true) {
    return [`(The repository is no longer at ${visibleLine(repository.root)})`];
  }
  if (side === "old") return [`(On what was removed: ${quote.join("\n")})`];
  return isGone === true ? [`(That line is gone; it was: ${quote.join("\n")})`] : [];
}

/** ISO 8601 to the second, as in lazygit-mcp-bridge. */
export function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, -".000Z".length)}Z`;
}
