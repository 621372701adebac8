import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import type { PlanEntry, SessionRow } from "../../server/dashboard/session-api.ts";
import { addShortcuts } from "../client/keyboard.ts";
import { go, linkTo, route } from "../client/router.ts";
import { mayDo, sessions } from "../client/state.ts";
import { Button, Empty } from "../view/parts.tsx";
import { SessionFacts, StateBadge } from "../view/session-facts.tsx";
import { Asks } from "./ask-card.tsx";
import { ChangesView } from "./changes-view.tsx";
import { ConversationView } from "./conversation-view.tsx";
import { OpenSession } from "./open-session.ts";
import { PromptBox } from "./prompt-box.tsx";
import { TrafficView } from "./traffic-view.tsx";
import { UndoDialog } from "./undo-dialog.tsx";

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

function SessionHead(props: { session: OpenSession; row: SessionRow | undefined }): JSX.Element {
  const { session, row } = props;
  const [isUndoing, setUndoing] = useState(false);
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
