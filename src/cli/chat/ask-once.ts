import { background } from "../../base/background.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { type Attached, type Ended, withLoss } from "../../protocol/acp/attach.ts";
import { ConversationText } from "../transcript/conversation-text.ts";
import { permitting } from "../session/questions.ts";
import { ERASE_LINE, paint } from "../shell/layout.ts";
import { type ChatInvocation, openChat } from "./open-chat.ts";

/** One turn: the answer goes to standard output; on a terminal, everything else does too. */
export async function askOnce(invocation: ChatInvocation, prompt: string): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const { values, out, err, data, color, width, isTerminal } = invocation;
  const isJson = values.json === true;
  const text = new ConversationText({ color: color && isTerminal, width, hasStatusLine: true });
  const answer: string[] = [];
  const screen = new Screen({ ...screenOf(invocation), isTerminal: isTerminal && !isJson });
  let isReplay = true;
  const { session, status } = await openChat(invocation, opened, {
    task: prompt,
    update: (update) => {
      if (isReplay) return;
      const isAnswer = update.sessionUpdate === "agent_message_chunk";
      if (isTerminal && !isJson) screen.print(text.update(update));
      else if (!isAnswer) err(text.update(update));
      else {
        const { text: said = "" } = (update.content ?? {}) as { text?: string };
        answer.push(said);
        if (!isJson) out(said);
      }
    },
    ...permitting(
      {
        isYes: values.yes === true,
        isSilent: isJson,
        out: (question) => screen.print(text.rest() + question),
        err: (words) => (isTerminal ? screen.print(text.rest() + words) : err(words)),
      },
      opened,
    ),
  });
  isReplay = false;
  background(
    untilSignal().then(() => session.cancel()),
    "Cancelling a turn",
  );
  const started = performance.now();
  const shows = setInterval(() => {
    screen.status(status.text(performance.now() - started, [text.running]));
  }, 500);
  opened.defer(() => clearInterval(shows));
  const ended = await withLoss(session, session.prompt(prompt)).finally(() => {
    clearInterval(shows);
    screen.print(text.end());
  });
  if (isJson)
    data(`${JSON.stringify(resultOf(session, status.model, ended, answer.join("")), null, 2)}\n`);
  else if (!isTerminal && answer.at(-1)?.endsWith("\n") === false) out("\n");
  if (ended.stopReason === "end_turn") return 0;
  err(`The turn ended early (${ended.stopReason}).\n`);
  return 1;
}

function screenOf({ out, color, isTerminal, width }: ChatInvocation) {
  return { out, color, isTerminal, width: () => process.stdout.columns ?? width };
}

function resultOf(
  { sessionId }: Attached,
  model: string | undefined,
  { stopReason, usage }: Ended,
  answer: string,
): object {
  return { session: sessionId, model, stopReason, answer, ...(usage ? { usage } : {}) };
}

interface ScreenOptions {
  readonly out: (text: string) => void;
  /** Whether there is a status line. */
  readonly isTerminal: boolean;
  readonly color: boolean;
  readonly width: () => number;
}

/** Prints text with a status line below it. The status line is erased before the next text. */
export class Screen {
  readonly #options: ScreenOptions;
  #isAtStart = true;
  #isStatusShown = false;

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  print(text: string): void {
    if (text === "") return;
    this.clearStatus();
    this.#isAtStart = text.endsWith("\n");
    this.#options.out(text);
  }

  /** Shows the status, unless a line is being written. */
  status(text: string): void {
    const { out, isTerminal, color, width } = this.#options;
    if (!isTerminal || !this.#isAtStart) return;
    // One column stays free: some terminals begin a new line when the last one is filled.
    const cut = Array.from(text)
      .slice(0, Math.max(0, width() - 1))
      .join("");
    out(`${this.#isStatusShown ? ERASE_LINE : ""}${paint("dim", cut, color)}`);
    this.#isStatusShown = true;
  }

  clearStatus(): void {
    if (!this.#isStatusShown) return;
    this.#isStatusShown = false;
    this.#options.out(ERASE_LINE);
  }
}
