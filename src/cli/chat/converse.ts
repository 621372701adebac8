import { visibleLine } from "../../base/text/visible.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { background } from "../../base/background.ts";
import type { Attached } from "../../protocol/acp/attach.ts";
import { askingWith } from "../session/permitting.ts";
import { Questions } from "../session/questions.ts";
import type { Invocation } from "../shell/command.ts";
import { paint } from "../shell/style.ts";
import { type ChatValues, openChat, screenOf, withLoss } from "./chat.ts";
import { ChatText } from "./chat-text.ts";
import { Keyboard } from "./keyboard.ts";
import { Screen } from "./screen.ts";
import type { Status } from "./status.ts";

/** Lines of an earlier conversation that are shown. */
const REPLAYED = 100;
/** Milliseconds in which a second Ctrl-C leaves. */
const TWICE = 2_000;
/** Milliseconds that a cancelled turn may take to end when the person leaves. */
const FAREWELL = 2_000;
const TICK = 500;

/** A conversation at a terminal: every line is a prompt, or the answer to a question. */
export async function converse(invocation: Invocation<ChatValues>): Promise<number> {
  const { color } = invocation;
  const screen = new Screen(screenOf(invocation));
  const text = new ChatText(color);
  const questions = new Questions((question) => screen.print(question));
  await using opened = new AsyncDisposableStack();
  let replay: string[] | undefined = [];
  const { session, status } = await openChat(invocation, opened, {
    update: (update) => {
      const shown = text.update(update);
      if (replay === undefined) screen.print(shown);
      else replay.push(shown);
    },
    permit: askingWith(questions),
  });
  const earlier = replay.join("") + text.end();
  replay = undefined;
  screen.print(lastLines(earlier, session.sessionId));
  const help = "Ctrl-C cancels a turn, Ctrl-D leaves, /help shows what the agent can do.";
  screen.print(`${paint("dim", help, color)}\n`);
  const conversation = new Conversation({ session, status, screen, text, questions, color });
  using keyboard = new Keyboard({
    input: process.stdin,
    output: process.stdout,
    line: (line) => conversation.line(line),
    digit: (digit) => conversation.digit(digit),
    interrupt: () => conversation.interrupt(),
    end: () => conversation.leave(),
  });
  conversation.begin(keyboard);
  background(
    untilSignal().then(() => conversation.leave()),
    "Leaving a conversation",
  );
  await Promise.race([conversation.left, session.ended]);
  keyboard.hide();
  await conversation.farewell();
  const id = session.sessionId.slice(0, 8);
  screen.print(`\nContinue with \`trunkline chat --session ${id}\`.\n`);
  return 0;
}

export interface ConversationParts {
  readonly session: Pick<Attached, "prompt" | "cancel" | "ended" | "sessionId">;
  readonly status: Pick<Status, "text">;
  readonly screen: Screen;
  readonly text: Pick<ChatText, "end" | "running">;
  readonly questions: Questions;
  readonly color: boolean;
}

/** What happens when a person types: prompts, answers, and the ways to stop. */
export class Conversation {
  readonly #parts: ConversationParts;
  readonly #left = Promise.withResolvers<void>();
  readonly #turns = new Set<Promise<void>>();
  #keyboard: Pick<Keyboard, "prompt" | "hide"> | undefined;
  #interruptedAt = -Infinity;
  #isLeaving = false;

  constructor(parts: ConversationParts) {
    this.#parts = parts;
  }

  /** Resolves when the person has left. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  begin(keyboard: Pick<Keyboard, "prompt" | "hide">): void {
    this.#keyboard = keyboard;
    keyboard.prompt();
  }

  line(line: string): void {
    const { questions, session, screen } = this.#parts;
    const said = line.trim();
    if (questions.isOpen) {
      if (said !== "") questions.answer(line);
    } else if (said === "/exit" || said === "/quit") this.leave();
    else if (said === "/cancel") session.cancel();
    else if (said !== "") {
      if (this.#turns.size > 0) screen.print(`> ${visibleLine(said)} (queued)\n`);
      const turn = this.#turn(line).finally(() => {
        this.#turns.delete(turn);
        if (this.#turns.size === 0 && !this.#isLeaving) this.#keyboard?.prompt();
      });
      this.#turns.add(turn);
      return;
    }
    if (this.#turns.size === 0 && !this.#isLeaving) this.#keyboard?.prompt();
  }

  /** A question with few options is answered by one key. */
  digit(digit: string): boolean {
    const { questions } = this.#parts;
    if (!questions.isOpen || questions.choices > 9) return false;
    questions.answer(digit);
    return true;
  }

  /** The first one cancels the turn, a second one soon after leaves. */
  interrupt(): void {
    const { session, screen } = this.#parts;
    const isSecond = performance.now() - this.#interruptedAt < TWICE;
    this.#interruptedAt = performance.now();
    if (isSecond) this.leave();
    else if (this.#turns.size > 0) {
      session.cancel();
      screen.print("\n(cancelling; Ctrl-C again leaves)\n");
    } else {
      screen.print("\n(Ctrl-C again leaves)\n");
      this.#keyboard?.prompt();
    }
  }

  leave(): void {
    this.#isLeaving = true;
    this.#left.resolve();
  }

  /** Cancels what runs, and gives it a moment to end. */
  async farewell(): Promise<void> {
    this.#isLeaving = true;
    if (this.#turns.size === 0) return;
    this.#parts.session.cancel();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, FAREWELL);
    await Promise.race([Promise.all(this.#turns), promise]);
    clearTimeout(timer);
  }

  async #turn(line: string): Promise<void> {
    const { session, status, screen, text, questions, color } = this.#parts;
    this.#keyboard?.hide();
    const started = performance.now();
    const state = (running?: string): string => status.text(performance.now() - started, running);
    const ticks = setInterval(() => {
      if (!questions.isOpen) screen.status(state(text.running));
    }, TICK);
    try {
      const { stopReason } = await withLoss(session, session.prompt(line));
      screen.print(text.end());
      if (stopReason !== "end_turn") screen.print(`(${stopReason})\n`);
      screen.print(`${paint("dim", state(), color)}\n`);
    } catch (error) {
      screen.print(text.end());
      if (!this.#isLeaving) screen.print(`trunkline: ${(error as Error).message}\n`);
    } finally {
      clearInterval(ticks);
    }
  }
}

/** The end of an earlier conversation, and how to read the rest. */
function lastLines(text: string, id: string): string {
  const lines = text.split("\n");
  if (lines.length <= REPLAYED) return text;
  const rest = `… the beginning: \`trunkline session replay ${id.slice(0, 8)}\`\n`;
  return rest + lines.slice(-REPLAYED).join("\n");
}
