import { computed, signal } from "@preact/signals";
import type { JSX } from "preact";

import type { SessionRow } from "../../server/dashboard/session-api.ts";
import { go, linkTo } from "../client/router.ts";
import { me, overview, readMarks, sessions, waitingCount } from "../client/state.ts";
import { shortPath } from "../text/format.ts";
import { type Column, column, DataTable, lead } from "../view/data-table.tsx";
import { Button, Empty, PageHead, SearchField, setterOf, TwoLines } from "../view/parts.tsx";
import { ContextBar, COST_AND_USE, StateBadge } from "../view/session-facts.tsx";
import { NewSessionButton } from "../start/start-dialog.tsx";
import { matcher } from "../text/search.ts";

const search = signal("");
const filter = signal<"all" | "waiting" | "running" | "unread">("all");

const setFilter = setterOf(filter);

const shown = computed(() => {
  const matches = matcher(search.value, wordsOf);
  const only = filter.value;
  return sessions.rows.value.filter((row) => {
    if (only === "waiting" || only === "running") return row.state === only && matches(row);
    return (only !== "unread" || readMarks.isUnread(row)) && matches(row);
  });
});

function wordsOf(row: SessionRow): string {
  const { title, agent, model, client, repository, branch, cwd, id, identity } = row;
  return [title, agent, model, client, repository, branch, cwd, id, identity].join("\n");
}

const COLUMNS: readonly Column<SessionRow>[] = [
  column("State", "7.5rem", (row) => <StateBadge row={row} />),
  lead("Session", "minmax(12rem, 3fr)", (row) => <Title row={row} />),
  column("Repository", "minmax(8rem, 2fr)", (row) => <Where row={row} />),
  column("Agent", "minmax(7rem, 1.4fr)", ({ agent, model }) => (
    <TwoLines main={agent} sub={model} />
  )),
  column("Editor", "minmax(5rem, 1fr)", ({ client }) => client ?? ""),
  column("Context", "6.5rem", ({ context }) => <ContextBar context={context} />),
  ...COST_AND_USE,
];

function Title({ row }: { readonly row: SessionRow }): JSX.Element {
  const isUnread = readMarks.isUnread(row);
  return (
    <>
      <a class={`main ${isUnread ? "unread" : ""}`} href={linkTo("sessions", row.id)}>
        {isUnread ? <span class="dot" role="img" aria-label="Unread" /> : null}
        {row.title ?? row.waiting?.says ?? "Untitled"}
      </a>
      <span class="sub">
        {row.state === "waiting" && row.title !== undefined ? row.waiting?.says : subOf(row)}
      </span>
    </>
  );
}

function subOf({ isRun, parent, open, owner }: SessionRow): string {
  const words = [
    isRun ? "remote run" : undefined,
    parent === undefined ? undefined : "fork",
    open === "elsewhere" ? "open in another process" : undefined,
    owner === undefined ? undefined : `of ${owner}`,
  ];
  return words.filter((word) => word !== undefined).join(" · ");
}

function Where({ row }: { readonly row: SessionRow }): JSX.Element {
  if (row.repository === undefined) return <span class="main mono">{shortPath(row.cwd)}</span>;
  return (
    <>
      <span class="main">{row.repository}</span>
      <span class="sub">
        {row.branch === undefined ? null : <span class="mono">{row.branch}</span>}
        {row.identity === undefined ? "" : ` as ${row.identity}`}
      </span>
    </>
  );
}

const FILTERS = ["all", "waiting", "running", "unread"] as const;

export function SessionsPage(): JSX.Element {
  const total = sessions.rows.value.length;
  const rows = shown.value;
  const counted = rows.length === total ? `${total}` : `${rows.length} of ${total}`;
  return (
    <>
      <PageHead title="Sessions" note={sessions.state.value === "loading" ? `${total} …` : counted}>
        <div class="filters" role="group" aria-label="Filter">
          {FILTERS.map((each) => (
            <Button
              key={each}
              class="quiet"
              aria-pressed={filter.value === each}
              onClick={() => setFilter(each)}
            >
              {each}
              {each === "waiting" && waitingCount.value > 0 ? ` ${waitingCount.value}` : ""}
            </Button>
          ))}
        </div>
        <NewSessionButton />
        <SearchField label="Search sessions" value={search.value} onInput={setterOf(search)} />
      </PageHead>
      <DataTable
        label="Sessions"
        of={sessions}
        class="sessions"
        rows={rows}
        columns={COLUMNS}
        onOpen={({ id }) => go(linkTo("sessions", id))}
        rowClass={({ state: at }) => at}
        empty={
          total > 0 ? (
            <Empty title="No session matches">Change the search or the filter.</Empty>
          ) : (
            <Empty title="No sessions yet" run={`trunkline chat${fleetOption()}`}>
              <p>Sessions of editors appear here. In a terminal:</p>
            </Empty>
          )
        }
      />
    </>
  );
}

/** In a fleet, a chat without an address is of its own data folder, and is not listed here. */
function fleetOption(): string {
  return me.value?.fleet === undefined ? "" : ` --url ${overview.value?.urls.acp ?? "URL"}`;
}
