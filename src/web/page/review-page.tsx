import { computed, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import type { ThreadDetail, ThreadRow } from "../../server/dashboard/api.ts";
import { get, post } from "../client/request.ts";
import { linkTo } from "../client/router.ts";
import { mayDo, threads } from "../client/state.ts";
import { clock } from "../text/format.ts";
import { matcher } from "../text/search.ts";
import { hunksIn } from "../text/unified-diff.ts";
import { type Column, column, DataTable, lead, numbers } from "../view/data-table.tsx";
import { DiffView } from "../view/diff-view.tsx";
import { Form, Submit } from "../view/fields.tsx";
import { LineWhyView } from "../view/line-why.tsx";
import {
  act,
  Ago,
  Badge,
  Button,
  Empty,
  PageHead,
  SearchField,
  setterOf,
  toggle,
  type Tone,
  TwoLines,
  Unloaded,
  useDraft,
  useLoaded,
} from "../view/parts.tsx";

const TONES: Readonly<Record<ThreadRow["state"], Tone>> = {
  open: "wait",
  reopened: "wait",
  claimed: "busy",
  answered: "busy",
  proposed: "busy",
  resolved: "good",
};

const search = signal("");
const isAll = signal(false);
const shown = computed(() => {
  const matches = matcher<ThreadRow>(search.value, (row) =>
    [row.comment, row.path, row.repository.name, row.by, row.state, row.severity].join("\n"),
  );
  return threads.rows.value.filter(
    (row) => (isAll.value || row.state !== "resolved") && matches(row),
  );
});

const COLUMNS: readonly Column<ThreadRow>[] = [
  column("State", "6.5rem", ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>),
  lead("Comment", "minmax(12rem, 3fr)", ({ comment, by, claimedBy }) => (
    <TwoLines
      main={comment}
      sub={claimedBy === undefined ? by : `${by} · ${claimedBy} works on it`}
    />
  )),
  column("Place", "minmax(10rem, 2fr)", ({ repository, path, line }) => (
    <TwoLines
      main={line === undefined ? path : `${path}:${line}`}
      sub={repository.name}
      code="main"
    />
  )),
  column("Severity", "5.5rem", ({ severity }) => severity),
  numbers("Changed", "4.5rem", ({ updated }) => <Ago at={updated} />),
];

export function ReviewPage(): JSX.Element {
  return (
    <>
      <PageHead title="Review" note={`${shown.value.length} of ${threads.rows.value.length}`}>
        <Button class="quiet" aria-pressed={isAll.value} onClick={toggle(isAll)}>
          with resolved
        </Button>
        <SearchField label="Search threads" value={search.value} onInput={setterOf(search)} />
      </PageHead>
      <DataTable
        label="Review threads"
        of={threads}
        rows={shown.value}
        columns={COLUMNS}
        detail={(row) => <Thread row={row} />}
        empty={
          <Empty title="No open threads">
            Comment on a line in the Changes of a session, or with: trunkline review add
          </Empty>
        }
      />
    </>
  );
}

function Thread({ row }: { readonly row: ThreadRow }): JSX.Element {
  const path = `/threads/${encodeURIComponent(row.id)}`;
  const [detail, failed] = useLoaded(() => get<ThreadDetail>(path), [row.id, row.updated]);
  const [text, setText] = useDraft(`reply/${row.id}`);
  const [isAsked, setAsked] = useState(false);
  if (detail === undefined) return <Unloaded what="The thread" failed={failed} />;
  const send = (action: string): void =>
    act(async () => {
      threads.put(await post<ThreadRow>(`${path}/${action}`, text.trim() === "" ? {} : { text }));
      setText("");
    });
  return (
    <div class="thread-detail">
      {detail.quote === undefined ? null : <pre>{detail.quote.join("\n")}</pre>}
      {row.line === undefined ? null : (
        <Button class="quiet small" aria-expanded={isAsked} onClick={() => setAsked(!isAsked)}>
          Who wrote it?
        </Button>
      )}
      {isAsked ? <LineWhyView path={`${path}/why`} /> : null}
      <ol class="log">
        {detail.events.map(({ seq, kind, at, by, text: said, diff, commit }) => (
          <li key={seq}>
            <time class="mono">{clock(at)}</time> <strong>{by}</strong> {kind}
            {commit === undefined ? "" : ` ${commit.slice(0, 10)}`}
            {said === undefined ? null : <p class="said">{said}</p>}
            {diff === undefined ? null : <DiffView hunks={hunksIn(diff)} label="Proposed change" />}
          </li>
        ))}
      </ol>
      {mayDo("review") ? (
        <Form class="comment-form" onSend={() => send("reply")}>
          <textarea
            rows={2}
            aria-label="Reply"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <div class="buttons">
            {row.session === undefined ? null : (
              <a href={linkTo("sessions", row.session, "changes")}>Session</a>
            )}
            <span class="space" />
            <Submit class="" disabled={text.trim() === ""}>
              Reply
            </Submit>
            {row.state === "resolved" ? (
              <Button onClick={() => send("reopen")}>Reopen</Button>
            ) : (
              <Button class="primary" onClick={() => send("resolve")}>
                Resolve
              </Button>
            )}
          </div>
        </Form>
      ) : null}
    </div>
  );
}
