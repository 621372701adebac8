import { background } from "../../base/background.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { type AttachedSession, type Ended, withLoss } from "../../protocol/acp/attach.ts";
import { conversationText } from "../transcript/conversation-text.ts";
import { permitting } from "../session/questions.ts";
import { paint } from "../shell/layout.ts";
import { type ChatInvocation, openChat } from "./open-chat.ts";

/** One turn: the answer goes to standard output; on a terminal, everything else does too. */
export async function askOnce(invocation: ChatInvocation, prompt: string): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const { values, out, err, data, color, width, isTerminal } = invocation;
  const isJson = values.json === true;
  const isShown = isTerminal && !isJson;
  const show = isShown ? out : err;
  const text = conversationText({ color: color && isTerminal, width });
  const answer: string[] = [];
  let isReplay = true;
  const { session, status } = await openChat(invocation, opened, {
    task: prompt,
    update: (update) => {
      if (isReplay) return;
      if (isShown || update.sessionUpdate !== "agent_message_chunk") show(text.update(update));
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
        out: (question) => out(text.rest() + question),
        err: (words) => show(text.rest() + words),
      },
      opened,
    ),
  });
  isReplay = false;
  const cancelling = untilSignal().then(() => session.cancel());
  background(cancelling, "Cancelling a turn");
  const started = performance.now();
  const ended = await withLoss(session, session.prompt(prompt)).finally(() => show(text.end()));
  if (isJson)
    data(`${JSON.stringify(resultOf(session, status.model, ended, answer.join("")), null, 2)}\n`);
  else if (isTerminal) out(`${paint("dim", status.text(performance.now() - started), color)}\n`);
  else if (answer.at(-1)?.endsWith("\n") === false) out("\n");
  if (ended.stopReason === "end_turn") return 0;
  err(`The turn ended early (${ended.stopReason}).\n`);
  return 1;
}

function resultOf(
  { sessionId }: AttachedSession,
  model: string | undefined,
  { stopReason, usage }: Ended,
  answer: string,
): object {
  return { session: sessionId, model, stopReason, answer, ...(usage ? { usage } : {}) };
}
