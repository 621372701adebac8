import { createInterface } from "node:readline";

import { atMost } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { type AttachedSession, withLoss } from "../../protocol/acp/attach.ts";
import { conversationText, type ConversationText } from "../transcript/conversation-text.ts";
import { askingWith, Questions } from "../session/questions.ts";
import { type ChatInvocation, openChat } from "./open-chat.ts";
import { leftFor, MOVE_HELP, type MoveRequest } from "./move-chat.ts";
import type { Status } from "./status-line.ts";

/** Lines of an earlier conversation that are shown. */
const REPLAYED = 100;
/** Milliseconds in which a second Ctrl-C leaves. */
const TWICE = 2_000;
/** Milliseconds that a cancelled turn may take to end when the person leaves. */
const FAREWELL = 2_000;
/** Milliseconds without another line after which a text is complete: pasted lines come together. */
const TOGETHER = 50;

const WELCOME =
  "Plain mode: each line is a prompt, and lines that are pasted together are one. What a question " +
  "lists answers it, or `= ` and a text. Ctrl-C cancels a turn, Ctrl-D leaves, /help shows what the agent can do.\n";

/**
 * `trunkline chat --plain`: text is only ever added, without colours, so that screen readers and simple
 * terminals show all of it. The terminal itself edits the line that is typed.
 */
export async function conversePlainly(
  invocation: ChatInvocation,
): Promise<MoveRequest | undefined> {
  const { out } = invocation;
  const text = conversationText();
  // What is asked at once is shown below the conversation that has led to it.
  const asked: string[] = [];
  const questions = new Questions((shown) =>
    replay === undefined ? out(shown) : asked.push(shown),
  );
  await using opened = new AsyncDisposableStack();
  let replay: string[] | undefined = [];
  const { session, status } = await openChat(invocation, opened, {
    update: (update) => {
      const shown = text.update(update);
      if (replay === undefined) out(shown);
      else replay.push(shown);
    },
    ...askingWith(questions),
  });
  // Its turn may go on.
  const earlier = replay.join("") + text.newLine();
  replay = undefined;
  out(lastLines(earlier, session.sessionId) + WELCOME + asked.join(""));
  const conversation = plainConversation({ session, status, out, text, questions });
  const input = createInterface({ input: process.stdin, terminal: false });
  opened.defer(() => input.close());
  input.on("line", (line) => conversation.line(line));
  input.on("close", () => conversation.leave());
  const interrupt = (): void => conversation.interrupt();
  process.on("SIGINT", interrupt);
  opened.defer(() => {
    process.off("SIGINT", interrupt);
    process.off("SIGCONT", conversation.prompt);
  });
  process.on("SIGCONT", conversation.prompt);
  const leaving = untilSignal(["SIGTERM", "SIGHUP"]).then(() => conversation.leave());
  background(leaving, "Leaving a conversation");
  conversation.prompt();
  await Promise.race([conversation.left, session.ended]);
  await conversation.farewell();
  return leftFor(conversation.movesTo, session.sessionId, out);
}

interface ConversationParts {
  readonly session: Pick<AttachedSession, "prompt" | "cancel" | "ended">;
  readonly status: Pick<Status, "text">;
  readonly out: (text: string) => void;
  readonly text: Pick<ConversationText, "end">;
  readonly questions: Questions;
}

/** What happens when a person types a line: prompts, answers, and the ways to stop. */
export function plainConversation({ session, status, out, text, questions }: ConversationParts) {
  const hasLeft = Promise.withResolvers<void>();
  const turns = new Set<Promise<void>>();
  const lines: string[] = [];
  let complete: NodeJS.Timeout | undefined;
  let interruptedAt = -Infinity;
  let isLeaving = false;
  let movesTo: string | undefined;

  /** Asks for a line, unless a turn runs. */
  const prompt = (): void => {
    if (turns.size === 0 && !isLeaving) out("> ");
  };

  function line(typed: string): void {
    lines.push(typed);
    clearTimeout(complete);
    complete = setTimeout(() => take(lines.splice(0).join("\n")), TOGETHER);
  }

  /** The first one cancels the turn, a second one soon after leaves. */
  function interrupt(): void {
    const isSecond = performance.now() - interruptedAt < TWICE;
    interruptedAt = performance.now();
    if (isSecond) return leave();
    if (turns.size > 0) session.cancel();
    out(turns.size > 0 ? "\n(cancelling; Ctrl-C again leaves)\n" : "\n(Ctrl-C again leaves)\n");
    prompt();
  }

  /** Leaves. A line that was typed just before is not sent: its turn would be cancelled. */
  function leave(): void {
    isLeaving = true;
    clearTimeout(complete);
    hasLeft.resolve();
  }

  /** Cancels what runs, and gives it a moment to end. */
  async function farewell(): Promise<void> {
    isLeaving = true;
    if (turns.size === 0) return;
    session.cancel();
    await atMost(FAREWELL, Promise.all(turns));
  }

  function take(typed: string): void {
    const said = typed.trim();
    if (questions.isAnswer(said)) {
      if (said !== "") questions.answer(said);
    } else if (said === "/exit" || said === "/quit") leave();
    else if (said === "/cancel") session.cancel();
    else if (/^\/move(\s|$)/.test(said)) move(said.slice(5).trim());
    else if (said !== "") {
      if (turns.size > 0) out("(queued)\n");
      if (questions.isOpen) out("(The question is still open: this is no answer to it.)\n");
      const running = turn(typed).finally(() => {
        turns.delete(running);
        prompt();
      });
      turns.add(running);
    }
    prompt();
  }

  function move(to: string): void {
    if (to === "") return out(`${MOVE_HELP}\n`);
    if (turns.size > 0) return out("(A turn is running. /cancel ends it; then move.)\n");
    movesTo = to;
    leave();
  }

  async function turn(said: string): Promise<void> {
    const started = performance.now();
    try {
      const { stopReason } = await withLoss(session, session.prompt(said));
      out(text.end());
      if (stopReason !== "end_turn") out(`(${stopReason})\n`);
      out(`${status.text(performance.now() - started)}\n`);
    } catch (error) {
      out(text.end());
      if (!isLeaving) out(`trunkline: ${(error as Error).message}\n`);
    }
  }

  return {
    ...{ prompt, line, interrupt, leave, farewell },
    /** Resolves when the person has left. */
    left: hasLeft.promise,
    /** Where the person has said that the session goes on, by `/move`. */
    get movesTo(): string | undefined {
      return movesTo;
    },
  };
}

/** The end of an earlier conversation, and how to read the rest. */
function lastLines(text: string, id: string): string {
  const lines = text.split("\n");
  if (lines.length <= REPLAYED) return text;
  const rest = `\u2026 the beginning: \`trunkline session replay ${id.slice(0, 8)}\`\n`;
  return rest + lines.slice(-REPLAYED).join("\n");
}
