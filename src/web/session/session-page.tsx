import { Component, type JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type {
  AskRow,
  PlanEntry,
  SessionRow,
  UndoneTurn,
  UndoPreview,
} from "../../server/dashboard/session-api.ts";
import { addShortcuts } from "../client/keyboard.ts";
import { lazily, Dialog } from "../form/dialog.tsx";
import { go, linkTo, route } from "../client/router.ts";
import { mayDo, sessions } from "../client/state.ts";
import { act, Ago, Button, Empty, problem, Unloaded, useDraft, useLoaded } from "../view/parts.tsx";
import { Form, Submit } from "../view/fields.tsx";
import { SessionFacts, StateBadge } from "../view/session-facts.tsx";
import { ChangesView } from "./changes-view.tsx";
import { OpenSession, type SettingChoice, settingChoices } from "./open-session.ts";
import { TrafficView } from "./traffic-view.tsx";
import { get } from "../client/request.ts";
import { MarkdownView } from "../view/markdown-view.tsx";
import { type Entry, titleOf } from "./conversation.ts";
import { QuestionForm } from "./question-form.tsx";
import { ToolCallView, ToolContent } from "./tool-call.tsx";
import { PromptField } from "./prompt-field.tsx";
import type { NamedImage } from "./prompt-images.ts";
import { SettingFields } from "./setting-fields.tsx";
import { VirtualList } from "../list/virtual-list.tsx";

const TABS = [
  { id: undefined, name: "Conversation", keys: "1" },
  { id: "changes", name: "Changes", keys: "2" },
  { id: "traffic", name: "Traffic", keys: "3" },
] as const;

export function SessionPage({ id }: { readonly id: string }): JSX.Element {
  const session = useMemo(() => new OpenSession(id), [id]);
  useEffect(() => {
    session.open().catch((error: unknown) => reportError(error));
    return () => session.close();
  }, [session]);
  useEffect(
    () =>
      addShortcuts([
        ...TABS.map(({ id: tab, name, keys }) => ({
          keys,
          says: name,
          run: () => go(linkTo("sessions", id, tab)),
        })),
        {
          keys: "i",
          says: "Write a prompt",
          run: () => document.querySelector<HTMLElement>(".prompt-box textarea")?.focus(),
        },
        { keys: "u", says: "Back to the sessions", run: () => go(linkTo("sessions")) },
      ]),
    [id],
  );
  const failed = session.failed.value;
  if (failed !== undefined) {
    return (
      <Empty title="This session cannot be shown">
        <p>{failed}</p>
        <a href={linkTo("sessions")}>All sessions</a>
      </Empty>
    );
  }
  const row = sessions.get(id) ?? session.detail.value?.row;
  const { tab } = route.value;
  return (
    <div class="session">
      <SessionHead session={session} row={row} />
      <div class="tabs" role="tablist" aria-label="Session">
        {TABS.map((each) => (
          <a
            key={each.name}
            role="tab"
            id={`tab-${each.name}`}
            aria-selected={tab === each.id}
            aria-controls="session-panel"
            href={linkTo("sessions", id, each.id)}
          >
            {each.name}
          </a>
        ))}
      </div>
      <div
        class="panel"
        id="session-panel"
        role="tabpanel"
        aria-labelledby={`tab-${TABS.find((each) => each.id === tab)?.name ?? "Conversation"}`}
      >
        {tab === "changes" ? (
          <ChangesView session={session} />
        ) : tab === "traffic" ? (
          <TrafficView session={session} />
        ) : (
          <>
            <Plan session={session} />
            {session.detail.value === undefined ? (
              <p class="loading">Loading …</p>
            ) : (
              <ConversationView session={session} />
            )}
          </>
        )}
      </div>
      <Asks session={session} isShort={tab !== undefined} />
      {tab === undefined ? <PromptBox session={session} row={row} /> : null}
    </div>
  );
}

const MoveDialog = lazily(async () => (await import("../form/move-dialog.tsx")).MoveDialog);

function SessionHead(props: { session: OpenSession; row: SessionRow | undefined }): JSX.Element {
  const { session, row } = props;
  const [isUndoing, setUndoing] = useState(false);
  const [isMoving, setMoving] = useState(false);
  const exportLink = (format: string): string => `/api${session.path}/export?format=${format}`;
  return (
    <header class="page-head session-head">
      <a class="back" href={linkTo("sessions")} aria-label="All sessions">
        ←
      </a>
      <h1>{row?.title ?? "Session"}</h1>
      {row === undefined ? null : <StateBadge row={row} />}
      <div class="actions">
        {session.detail.value?.canUndo === true && mayDo("sessions") ? (
          <Button
            class="quiet"
            title="Restore the files that the last turn changed"
            onClick={() => setUndoing(true)}
          >
            Undo
          </Button>
        ) : null}
        {mayDo("admin") ? (
          <Button
            class="quiet"
            title="Move the session with its work to another gateway"
            onClick={() => setMoving(true)}
          >
            Move
          </Button>
        ) : null}
        <details class="menu">
          <summary>Export</summary>
          <div class="menu-items">
            <a href={exportLink("html")} download>
              HTML page
            </a>
            <a href={exportLink("ndjson")} download>
              NDJSON
            </a>
          </div>
        </details>
      </div>
      {isMoving ? <MoveDialog path={session.path} onClose={() => setMoving(false)} /> : null}
      {isUndoing ? <UndoDialog session={session} onDone={() => setUndoing(false)} /> : null}
      {row === undefined ? null : <SessionFacts row={row} usage={usageOf(session)} />}
    </header>
  );
}

function usageOf(session: OpenSession): SessionRow["context"] {
  return session.shown.value.conversation.usage;
}

const MARKS: Readonly<Record<string, string>> = { completed: "●", in_progress: "◐", pending: "○" };

function Plan({ session }: { readonly session: OpenSession }): JSX.Element | null {
  const plan: readonly PlanEntry[] = session.shown.value.conversation.plan ?? [];
  if (plan.length === 0) return null;
  const done = plan.filter(({ status }) => status === "completed").length;
  const current = plan.find(({ status }) => status === "in_progress");
  return (
    <details class="plan">
      <summary>
        <strong>
          Plan {done}/{plan.length}
        </strong>
        <span class="note">{current?.content ?? ""}</span>
      </summary>
      <ol>
        {plan.map(({ content, status }, index) => (
          <li key={index} class={status}>
            <span aria-label={status.replaceAll("_", " ")} role="img">
              {MARKS[status] ?? "○"}
            </span>{" "}
            {content}
          </li>
        ))}
      </ol>
    </details>
  );
}

/** Says which files are restored before that is done. */
function UndoDialog(props: { session: OpenSession; onDone: () => void }): JSX.Element {
  const { session, onDone } = props;
  const [found, failed] = useLoaded(() => get<UndoPreview>(`${session.path}/undo`), [session]);
  const choice = (what: "undo" | "redo", name: string, turn: UndoneTurn): JSX.Element => (
    <>
      <p>{what === "undo" ? "The last turn changed:" : "The last undo restored:"}</p>
      <ul class="mono">
        {turn.files.map((path) => (
          <li key={path}>{path}</li>
        ))}
      </ul>
      {turn.commands.length === 0 ? null : (
        <p class="note">Other effects of its commands stay: {turn.commands.join("; ")}</p>
      )}
      <Button
        class={what === "undo" ? "danger" : ""}
        onClick={() => act(() => session.undo(what).finally(onDone))}
      >
        {name}
      </Button>
    </>
  );
  return (
    <Dialog title="Undo" class="help" onClose={onDone}>
      {found === undefined ? <Unloaded what="What can be undone" failed={failed} /> : null}
      {found?.undo && choice("undo", "Restore these files", found.undo)}
      {found?.redo && choice("redo", "Redo", found.redo)}
      {found !== undefined && !found.undo && !found.redo ? <p>There is nothing to undo.</p> : null}
    </Dialog>
  );
}

type Option = NonNullable<AskRow["options"]>[number];

/** The open questions to the person. The keys y and n answer the first permission request. */
function Asks(props: {
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
  readonly ask: AskRow;
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

/** What the agent is told to do with a turn that was interrupted. */
const GO_ON = "Go on where you were interrupted.";

/** The field for prompts. During a turn, a prompt joins the turn or waits for its end. */
function PromptBox(props: {
  session: OpenSession;
  row: SessionRow | undefined;
}): JSX.Element | null {
  const { session, row } = props;
  const [text, setText] = useDraft(`prompt/${session.id}`);
  const [images, setImages] = useState<readonly NamedImage[]>([]);
  const [whileRunning, setWhileRunning] = useState<"steer" | "queue">("queue");
  const field = useRef<HTMLTextAreaElement>(null);
  if (!mayDo("sessions")) return null;
  const isRunning = row !== undefined && row.state !== "idle";
  const send = (): void => {
    if (text.trim() === "") return;
    act(async () => {
      await session.prompt({ text, images, whileRunning });
      setText("");
      setImages([]);
    });
  };
  const choose = ({ kind, id }: SettingChoice, value: string | boolean): void => {
    const isOption = kind === "option";
    act(() => (isOption ? session.choose(kind, id, value) : session.choose(kind, String(value))));
  };
  return (
    <Form class="prompt-box" aria-label="Prompt" onSend={send}>
      <PromptField
        field={field}
        text={text}
        placeholder={isRunning ? "Say something to the running turn" : "Prompt the agent"}
        onText={setText}
        onSend={send}
        onProblem={(says) => {
          problem.value = says;
        }}
        folder={row?.isRun === true ? undefined : row?.cwd}
        commands={session.shown.value.conversation.commands ?? session.detail.value?.commands ?? []}
        images={images}
        onImages={setImages}
      />
      <div class="prompt-bar">
        <SettingFields
          choices={settingChoices(session.detail.value?.settings ?? {})}
          choose={choose}
        />
        <span class="space" />
        {isRunning ? (
          <>
            <select
              aria-label="While a turn runs"
              value={whileRunning}
              onChange={(event) => setWhileRunning(event.currentTarget.value as "steer" | "queue")}
            >
              <option value="queue">after this turn</option>
              <option value="steer">join this turn</option>
            </select>
            <Button class="danger" onClick={() => act(() => session.cancel())}>
              Stop
            </Button>
          </>
        ) : row?.ended === "interrupted" ? (
          <Button
            title="The last turn was interrupted"
            onClick={() =>
              act(() => session.prompt({ text: GO_ON, images: [], whileRunning: "queue" }))
            }
          >
            Go on
          </Button>
        ) : null}
        <Submit disabled={text.trim() === ""}>Send</Submit>
      </div>
    </Form>
  );
}

function ConversationView({ session }: { readonly session: OpenSession }): JSX.Element {
  const { entries } = session.shown.value.conversation;
  if (entries.length === 0) {
    return <Empty title="Nothing was said yet">Write the first prompt below.</Empty>;
  }
  return (
    <VirtualList
      kind="feed"
      class="conversation"
      label="Conversation"
      count={entries.length}
      estimate={72}
      followsEnd
      keyOf={(index) => entries[index]?.seq ?? index}
      render={(index) => <EntryView entry={entries[index] as Entry} />}
      onNearStart={() => {
        session.loadEarlier().catch((error: unknown) => reportError(error));
      }}
    />
  );
}

/** Entries are immutable: a change makes a new object. */
class EntryView extends Component<{ readonly entry: Entry }> {
  override shouldComponentUpdate({ entry }: { readonly entry: Entry }): boolean {
    return entry !== this.props.entry;
  }

  override render({ entry }: { readonly entry: Entry }): JSX.Element {
    switch (entry.kind) {
      case "prompt":
        return (
          <div class="entry prompt">
            <div class="who">
              <strong>{entry.by === undefined || entry.by === "" ? "You" : entry.by}</strong>
              <Ago at={entry.at} />
            </div>
            <div class="said">{entry.text}</div>
          </div>
        );
      case "message":
        return (
          <div class="entry message">
            <MarkdownView text={entry.text} />
          </div>
        );
      case "thought":
        return (
          <details class="entry thought">
            <summary>Thought</summary>
            <MarkdownView text={entry.text} />
          </details>
        );
      case "tool":
        return (
          <div class="entry">
            <ToolCallView entry={entry} />
          </div>
        );
      case "permission":
        return (
          <div class="entry permission">
            <span class={`mark ${entry.answer === undefined ? "wait" : ""}`} aria-hidden="true" />
            {permissionText(entry)}
          </div>
        );
      case "note":
        return <div class={`entry note ${entry.level}`}>{entry.text}</div>;
    }
  }
}

function permissionText({ title, answer, by }: Extract<Entry, { kind: "permission" }>): string {
  const what = title ?? "a tool call";
  if (answer === undefined) return `Permission asked: ${what}`;
  const who = by === undefined || by === "" ? "" : ` by ${by}`;
  return answer.startsWith("allow")
    ? `Allowed${answer === "allow_always" ? " always" : ""}${who}: ${what}`
    : `${answer === "cancelled" ? "Not answered" : `Refused${who}`}: ${what}`;
}
