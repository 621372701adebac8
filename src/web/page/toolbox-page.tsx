import { computed, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { ApprovalRow, Policy, ToolCalls, ToolRow } from "../../server/dashboard/api.ts";
import { get, post } from "../client/request.ts";
import { linkTo } from "../client/router.ts";
import { approvals, calls, mayDo, me } from "../client/state.ts";
import { Collection } from "../client/collection.ts";
import { lazily } from "../form/dialog.tsx";
import { clock, milliseconds, plural, short } from "../text/format.ts";
import { matcher } from "../text/search.ts";
import { hunksIn } from "../text/unified-diff.ts";
import { type Column, column, DataTable, lead, numbers } from "../view/data-table.tsx";
import { DiffView } from "../view/diff-view.tsx";
import {
  act,
  Ago,
  Badge,
  Button,
  Empty,
  PageHead,
  SearchField,
  setterOf,
  TwoLines,
} from "../view/parts.tsx";
import { type CallMinute, callSeries, roundUp } from "../text/call-series.ts";

const tools = new Collection<ToolRow>({
  fetch: async () => ({ rows: (await get<{ tools: readonly ToolRow[] }>("/tools")).tools }),
  idOf: ({ name }) => name,
  compare: (a, b) => groupOf(a).localeCompare(groupOf(b)) || a.name.localeCompare(b.name),
});
/** Our own tools come first, by what they are for. */
function groupOf({ server, purpose = "" }: ToolRow): string {
  return server === undefined ? ` ${purpose}` : server;
}

const search = signal("");
const shown = computed(() => {
  const matches = matcher<ToolRow>(search.value, (row) =>
    [row.name, row.title, row.description, row.server, row.purpose, row.policy].join("\n"),
  );
  return tools.rows.value.filter(matches);
});

const PARTS = [
  [undefined, "Policy"],
  ["approvals", "Approvals"],
  ["calls", "Calls"],
] as const;

export function ToolboxPage({ part }: { readonly part: string | undefined }): JSX.Element {
  useEffect(() => {
    // Servers come and go without an event that names their tools.
    tools.reload().catch(reportError);
    for (const each of [approvals, calls]) each.load().catch(reportError);
  }, []);
  const waiting = approvals.rows.value.length;
  return (
    <>
      <PageHead title="Toolbox" note={plural(tools.rows.value.length, "tool")}>
        {part === undefined ? (
          <SearchField label="Search tools" value={search.value} onInput={setterOf(search)} />
        ) : null}
      </PageHead>
      <nav class="tabs" aria-label="Toolbox">
        {PARTS.map(([id, name]) => (
          <a
            key={name}
            href={linkTo("toolbox", id)}
            aria-current={part === id ? "page" : undefined}
          >
            {name} {id === "approvals" && waiting > 0 ? <span class="count">{waiting}</span> : null}
          </a>
        ))}
      </nav>
      {part === "approvals" ? <Approvals /> : part === "calls" ? <Calls /> : <Tools />}
    </>
  );
}

const POLICIES: readonly Policy[] = ["allow", "ask", "deny"];

function PolicySwitch({ row }: { readonly row: ToolRow }): JSX.Element {
  const decide = (decision: Policy): void =>
    act(async () => {
      tools.put(await post<ToolRow>("/tools/policy", { tool: row.name, decision }));
    });
  return (
    <div class="switch" role="group" aria-label={`Policy of ${row.name}`} title={row.rule ?? ""}>
      {POLICIES.map((policy) => (
        <button
          key={policy}
          type="button"
          class={`quiet small ${policy}`}
          aria-pressed={row.policy === policy}
          disabled={!mayDo("admin")}
          onClick={() => decide(policy)}
        >
          {policy}
        </button>
      ))}
    </div>
  );
}

const TOOLS: readonly Column<ToolRow>[] = [
  lead("Tool", "minmax(12rem, 4fr)", ({ name, title, description, server }) =>
    server === undefined && title !== undefined ? (
      <TwoLines main={title} sub={name} code="sub" />
    ) : (
      <TwoLines main={name} sub={title ?? description ?? ""} code="main" />
    ),
  ),
  column("From", "minmax(6rem, 1fr)", ({ server, purpose }) => server ?? purpose ?? "Trunkline"),
  column("Kind", "7rem", ({ isReadOnly, isHeld }) => (
    <>
      {isHeld === true ? <Badge tone="wait">held</Badge> : null}
      {isReadOnly === true ? <Badge>reads</Badge> : null}
    </>
  )),
  column("Policy", "11rem", (row) => <PolicySwitch row={row} />),
];

const ToolDialog = lazily(async () => (await import("../form/tool-dialog.tsx")).ToolDialog);

function Tools(): JSX.Element {
  const [opened, setOpened] = useState<ToolRow | undefined>(undefined);
  return (
    <>
      <DataTable
        label="Tools"
        of={tools}
        rows={shown.value}
        columns={TOOLS}
        detail={(row) => (
          <div class="tool-detail">
            <p>{row.description ?? "The tool has no description."}</p>
            {row.rule === undefined ? null : <p class="note">Decided by the rule {row.rule}</p>}
            <Button class="small" onClick={() => setOpened(row)}>
              {row.isHeld === true || me.value?.observes === true ? "Schema" : "Schema and call"}
            </Button>
          </div>
        )}
        empty={<Empty title="No tools match" />}
      />
      {opened === undefined ? null : (
        <ToolDialog
          key={opened.name}
          name={opened.name}
          description={opened.description}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  );
}

function Approvals(): JSX.Element {
  const rows = approvals.rows.value;
  return rows.length === 0 ? (
    <Empty title="Nothing waits for approval">
      A tool whose description changes is held here until somebody has read the change.
    </Empty>
  ) : (
    <div class="page">
      {rows.map((row) => (
        <Approval key={row.id} row={row} />
      ))}
    </div>
  );
}

function Approval({ row }: { readonly row: ApprovalRow }): JSX.Element {
  const { id, server, name, why, at, diff } = row;
  return (
    <section class="card" aria-label={`${server} ${name}`}>
      <div class="card-head">
        <Badge tone="wait">{why}</Badge>
        <strong class="mono">{name}</strong>
        <span class="note">
          of {server}, <Ago at={at} />
        </span>
        <span class="space" />
        {mayDo("admin") ? (
          <Button
            class="primary"
            onClick={() =>
              act(async () => {
                await post("/approvals/approve", { id });
                approvals.apply({ id, row: null });
              })
            }
          >
            Approve
          </Button>
        ) : null}
      </div>
      <DiffView hunks={hunksIn(diff)} label={`Change of ${name}`} />
    </section>
  );
}

const CALLS: readonly Column<ToolCalls>[] = [
  { ...lead("Tool", "minmax(12rem, 4fr)", ({ tool }) => tool), isCode: true },
  numbers("Calls", "5rem", (row) => short(row.calls)),
  numbers("Errors", "5rem", ({ errors }) =>
    errors === 0 ? "" : <span class="bad">{errors}</span>,
  ),
  numbers("p50", "5rem", ({ p50 }) => milliseconds(p50)),
  numbers("p95", "5rem", ({ p95 }) => milliseconds(p95)),
];

function Calls(): JSX.Element {
  const rows = calls.rows.value.toSorted((a, b) => b.calls - a.calls);
  return rows.length === 0 ? (
    <Empty title="No calls in the last hour">Calls of tools are counted here as they come.</Empty>
  ) : (
    <div class="calls">
      <CallsChart rows={rows} />
      <DataTable
        label="Calls of the last hour"
        rows={rows}
        columns={CALLS}
        keyOf={({ tool }) => tool}
      />
    </div>
  );
}

// Two small charts of our own: a chart library would weigh more than the rest of the page together.

const HEIGHT = 100;
/** The width of one minute. */
const STEP = 10;

/** Calls and errors, and the latency, of the last hour. */
function CallsChart({ rows }: { readonly rows: readonly ToolCalls[] }): JSX.Element {
  const series = callSeries(rows, Date.now());
  const calls = series.reduce((sum, minute) => sum + minute.calls, 0);
  const errors = series.reduce((sum, minute) => sum + minute.errors, 0);
  const mostCalls = roundUp(Math.max(...series.map((minute) => minute.calls)));
  const slowest = roundUp(Math.max(...series.map(({ mean }) => mean ?? 0)));
  const height = (share: number): number => HEIGHT * Math.min(1, share);
  return (
    <div class="charts">
      <Chart
        title="Calls a minute"
        note={`${calls} in the hour, ${errors} failed · top ${short(mostCalls)}`}
        series={series}
        says={(minute) => `${plural(minute.calls, "call")}, ${plural(minute.errors, "error")}`}
      >
        {series.flatMap((minute, index) =>
          (["calls", "errors"] as const).map((kind) => {
            const tall = height(minute[kind] / mostCalls);
            if (tall === 0) return null;
            const place = { x: index * STEP + 1, width: STEP - 2, y: HEIGHT - tall, height: tall };
            return <rect key={`${kind}${minute.at}`} class={kind} {...place} />;
          }),
        )}
      </Chart>
      <Chart
        title="Mean latency"
        note={`top ${milliseconds(slowest)}`}
        series={series}
        says={({ mean }) => (mean === undefined ? "no calls" : milliseconds(mean))}
      >
        <path class="line" d={lineOf(series, (mean) => HEIGHT - height(mean / slowest))} />
        {series.map(({ at, mean }, index) =>
          mean === undefined ? null : (
            <path
              key={at}
              class="point"
              d={`M${(index + 0.5) * STEP} ${HEIGHT - height(mean / slowest)}h0`}
            />
          ),
        )}
      </Chart>
    </div>
  );
}

/** A line that is interrupted where there was no call. */
function lineOf(series: readonly CallMinute[], y: (mean: number) => number): string {
  let isDrawing = false;
  return series
    .map(({ mean }, index) => {
      const verb = isDrawing ? "L" : "M";
      isDrawing = mean !== undefined;
      return mean === undefined ? "" : `${verb}${(index + 0.5) * STEP} ${y(mean)}`;
    })
    .join("");
}

function Chart(props: {
  readonly title: string;
  readonly note: string;
  readonly series: readonly CallMinute[];
  readonly says: (minute: CallMinute) => string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { title, note, series, says, children } = props;
  const width = series.length * STEP;
  const [first, last] = [series[0], series.at(-1)];
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong>
        <span class="note">{note}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${note}`}
      >
        {[0, 0.5, 1].map((share) => (
          <line
            key={share}
            class="grid"
            vector-effect="non-scaling-stroke"
            {...{ x1: 0, x2: width, y1: share * HEIGHT, y2: share * HEIGHT }}
          />
        ))}
        {children}
        {series.map((minute, index) => (
          <rect key={minute.at} class="hover" x={index * STEP} y={0} width={STEP} height={HEIGHT}>
            <title>{`${clock(minute.at).slice(0, -3)}: ${says(minute)}`}</title>
          </rect>
        ))}
      </svg>
      <div class="chart-axis" aria-hidden="true">
        <span>{first === undefined ? "" : clock(first.at).slice(-8, -3)}</span>
        <span>{last === undefined ? "" : clock(last.at).slice(-8, -3)}</span>
      </div>
    </figure>
  );
}
