import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import type { RunDetail, RunRow } from "../../server/dashboard/api.ts";
import type { FileDiff } from "../../server/dashboard/session-api.ts";
import { get } from "../client/request.ts";
import { go, linkTo } from "../client/router.ts";
import { mayDo, runs } from "../client/state.ts";
import { clock, money, plural } from "../text/format.ts";
import { partsOfPatch } from "../../base/text/patch-names.ts";
import { hunksIn } from "../text/unified-diff.ts";
import { openStart } from "../start/start-dialog.tsx";
import { code, type Column, column, DataTable, lead } from "../view/data-table.tsx";
import { Counts, DiffView } from "../view/diff-view.tsx";
import {
  Badge,
  Button,
  Command,
  Empty,
  Facts,
  PageHead,
  type Tone,
  TwoLines,
  Unloaded,
  useLoaded,
} from "../view/parts.tsx";
import { COST_AND_USE } from "../view/session-facts.tsx";

const TONES: Readonly<Record<RunRow["stage"], Tone>> = {
  queued: "plain",
  preparing: "busy",
  working: "busy",
  waiting: "wait",
  pushed: "good",
  failed: "bad",
  idle: "plain",
};

function Stage({ row }: { readonly row: RunRow }): JSX.Element {
  const position = row.position === undefined ? "" : ` ${row.position}`;
  return (
    <Badge tone={TONES[row.stage]} title={row.says ?? ""}>
      {row.stage}
      {position}
    </Badge>
  );
}

const COLUMNS: readonly Column<RunRow>[] = [
  column("Stage", "6.5rem", (row) => <Stage row={row} />),
  lead("Run", "minmax(10rem, 3fr)", (row) => (
    <>
      <a class="main" href={linkTo("runs", row.id)}>
        {row.title ?? "Untitled"}
      </a>
      <span class="sub">{row.says ?? ""}</span>
    </>
  )),
  column("Repository", "minmax(9rem, 2fr)", ({ repository, branch, revision }) => (
    <TwoLines
      main={repository.replace(/^https?:\/\//, "")}
      sub={`${branch} ${revision.slice(0, 8)}`}
      code="sub"
    />
  )),
  code("Pushes to", "minmax(8rem, 2fr)", (row) => (
    <TwoLines
      main={row.target}
      sub={
        <>
          {row.pushed?.slice(0, 8) ?? "not pushed"} <PullRequest row={row} />
        </>
      }
    />
  )),
  ...COST_AND_USE,
];

export function RunsPage({ id }: { readonly id: string | undefined }): JSX.Element {
  if (id !== undefined) return <RunPage key={id} id={id} />;
  return (
    <>
      <PageHead title="Remote runs" note={plural(runs.rows.value.length, "run")}>
        {mayDo("sessions") ? (
          <Button class="primary" onClick={() => openStart("run")}>
            New remote run
          </Button>
        ) : null}
      </PageHead>
      <DataTable
        label="Remote runs"
        of={runs}
        columns={COLUMNS}
        onOpen={(row) => go(linkTo("runs", row.id))}
        empty={<Empty title="No remote runs" run='trunkline run . "Fix the failing test"' />}
      />
    </>
  );
}

function RunPage({ id }: { readonly id: string }): JSX.Element {
  useEffect(() => {
    runs.load().catch(reportError);
  }, []);
  const row = runs.get(id);
  const [detail, failed] = useLoaded(
    () => get<RunDetail>(`/runs/${encodeURIComponent(id)}`),
    [id, row?.stage, row?.last],
  );
  const [diff] = useLoaded(
    () => get<FileDiff>(`/runs/${encodeURIComponent(id)}/diff`),
    [id, row?.pushed, row?.last],
  );
  if (detail === undefined) return <Unloaded what="This run" failed={failed} />;
  const shown = row ?? detail.row;
  return (
    <div class="page">
      <header class="page-head">
        <a class="back" href={linkTo("runs")} aria-label="All runs">
          ←
        </a>
        <h1>{shown.title ?? "Remote run"}</h1>
        <Stage row={shown} />
        <div class="actions">
          <PullRequest row={shown} />
          <a href={linkTo("sessions", id)}>Conversation</a>
        </div>
      </header>
      <Facts
        class="mono"
        facts={[
          ["Repository", shown.repository],
          ["From", `${shown.branch} ${shown.revision.slice(0, 10)}`],
          ["Pushes to", shown.target],
          ["Pushed", shown.pushed?.slice(0, 10)],
          ["Agent", shown.agent],
          ["Cost", shown.cost && money(shown.cost)],
        ]}
      />
      {shown.fetch === undefined ? null : <Command isElsewhere run={shown.fetch} />}
      <section aria-label="Log">
        <h2>Log</h2>
        <ol class="log">
          {detail.log.map(({ at, says }, index) => (
            <li key={index}>
              <time class="mono">{clock(at)}</time> {says}
            </li>
          ))}
        </ol>
      </section>
      <section aria-label="Changes">
        <h2>Changes against {shown.branch || shown.revision.slice(0, 10)}</h2>
        {detail.missing === undefined && detail.files.length > 0 ? null : (
          <p class="note">{detail.missing ?? "Nothing is pushed yet."}</p>
        )}
        {partsOfPatch(diff?.diff ?? "").map(({ path, text }) => (
          <details class="file" key={path} open={detail.files.length <= 5}>
            <summary>
              <span class="path mono">{path}</span>
              <Counts {...countsOf(detail, path)} />
            </summary>
            <DiffView hunks={hunksIn(text)} label={`Diff of ${path}`} />
          </details>
        ))}
      </section>
    </div>
  );
}

function PullRequest({ row: { pullRequest: url } }: { readonly row: RunRow }): JSX.Element | null {
  if (url === undefined || !/^https?:/.test(url)) return null;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      Pull request
    </a>
  );
}

function countsOf({ files }: RunDetail, path: string): { added: number; removed: number } {
  return files.find((file) => file.path === path) ?? { added: 0, removed: 0 };
}
