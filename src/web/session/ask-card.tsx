import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import type { Ask } from "../../server/dashboard/session-api.ts";
import { addShortcuts } from "../client/keyboard.ts";
import { mayDo } from "../client/state.ts";
import { MarkdownView } from "../view/markdown-view.tsx";
import { act, Ago } from "../view/parts.tsx";
import { titleOf } from "./conversation.ts";
import type { OpenSession } from "./open-session.ts";
import { QuestionForm } from "./question-form.tsx";
import { ToolContent } from "./tool-call.tsx";

type Option = NonNullable<Ask["options"]>[number];

/** The open questions to the person. The keys y and n answer the first permission request. */
export function Asks(props: {
  readonly session: OpenSession;
  /** Leaves out the content of tool calls: another tab than the conversation is shown. */
  readonly isShort: boolean;
}): JSX.Element | null {
  const { session, isShort } = props;
  const asks = session.asks.value;
  const canAnswer = mayDo("sessions");
  const first = canAnswer ? asks.find(({ kind }) => kind === "permission") : undefined;
  useEffect(() => {
    if (first === undefined) return undefined;
    const choose = (kinds: readonly string[]) => (): boolean => {
      const option = first.options?.find(({ kind }) => kinds.includes(kind));
      if (option === undefined) return false;
      act(() => session.answer(first, { optionId: option.optionId }));
      return true;
    };
    return addShortcuts([
      { keys: "y", says: "Allow once", run: choose(["allow_once"]) },
      { keys: "n", says: "Refuse", run: choose(["reject_once"]) },
    ]);
  }, [first]);
  if (asks.length === 0) return null;
  return (
    <section class="asks" aria-label="Waiting for you" aria-live="polite">
      {asks.map((ask) => (
        <AskCard
          key={ask.id}
          ask={ask}
          session={session}
          hasKeys={ask === first}
          isShort={isShort}
          canAnswer={canAnswer}
        />
      ))}
    </section>
  );
}

function AskCard(props: {
  readonly ask: Ask;
  readonly session: OpenSession;
  readonly hasKeys: boolean;
  readonly isShort: boolean;
  readonly canAnswer: boolean;
}): JSX.Element {
  const { ask, session, hasKeys, isShort, canAnswer } = props;
  if (ask.kind === "question") {
    const message = ask.question?.["message"];
    return (
      <div class="ask-card">
        <div class="ask-head">
          <strong>Question</strong>
          <Ago at={ask.at} />
        </div>
        <MarkdownView text={typeof message === "string" ? message : "The agent asks:"} />
        {canAnswer ? (
          <QuestionForm
            question={ask.question ?? {}}
            onAnswer={(result) => act(() => session.answer(ask, { result }))}
          />
        ) : null}
      </div>
    );
  }
  return (
    <div class="ask-card">
      <div class="ask-head">
        <strong>Permission</strong>
        <code>{titleOf(ask.toolCall ?? {}) ?? "a tool call"}</code>
        <Ago at={ask.at} />
      </div>
      {isShort ? null : <ToolContent call={ask.toolCall ?? {}} />}
      <div class="buttons">
        {(canAnswer ? (ask.options ?? []) : []).map((option) => (
          <button
            key={option.optionId}
            type="button"
            class={classOf(option)}
            onClick={() => act(() => session.answer(ask, { optionId: option.optionId }))}
          >
            {option.name}
            {hasKeys ? <Key option={option} /> : null}
          </button>
        ))}
      </div>
    </div>
  );
}

function classOf({ kind }: Option): string {
  if (kind === "allow_once") return "primary";
  return kind.startsWith("reject") ? "danger" : "";
}

function Key({ option: { kind } }: { readonly option: Option }): JSX.Element | null {
  const key = { allow_once: "y", reject_once: "n" }[kind];
  return key === undefined ? null : <kbd aria-hidden="true">{key}</kbd>;
}
