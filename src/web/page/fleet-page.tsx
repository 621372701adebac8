import type { JSX } from "preact";

import type { FleetMove, FleetNode, FleetState } from "../../server/dashboard/fleet-api.ts";
import { get } from "../client/request.ts";
import { linkTo } from "../client/router.ts";
import { sessions } from "../client/state.ts";
import { plural } from "../text/format.ts";
import { type Column, column, DataTable, lead, numbers } from "../view/data-table.tsx";
import { Ago, Badge, Empty, PageHead, TwoLines, Unloaded, usePolled } from "../view/parts.tsx";

const POLL_MS = 2_000;

function labelWords(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}

const NODES: readonly Column<FleetNode>[] = [
  column("State", "6rem", ({ isDraining }) =>
    isDraining ? <Badge tone="wait">draining</Badge> : <Badge tone="good">up</Badge>,
  ),
  lead("Node", "minmax(8rem, 2fr)", ({ name, role, url }) => (
    <TwoLines main={name} sub={url === undefined ? role : `${role} at ${url}`} />
  )),
  column("Slots", "9rem", ({ role, name, used, slots }) =>
    role === "worker" ? (
      <span class="slots">
        <meter min={0} max={Math.max(slots, 1)} value={used} aria-label={`Used slots of ${name}`} />
        {` ${used} of ${slots}`}
      </span>
    ) : (
      ""
    ),
  ),
  numbers("Sessions", "5rem", ({ role, sessions: open }) => (role === "worker" ? open : "")),
  column("Labels", "minmax(6rem, 2fr)", ({ labels }) => labelWords(labels)),
  column("Version", "6rem", ({ version }) => version),
  column("Seen since", "7rem", ({ since }) => <Ago at={since} />),
];

const QUEUES: readonly Column<FleetState["waiting"][number]>[] = [
  lead("Asks for", "minmax(8rem, 1fr)", ({ labels }) => labelWords(labels) || "any worker"),
  numbers("Requests", "6rem", ({ count }) => count),
];

const REASONS: Readonly<Record<FleetMove["why"], string>> = {
  lost: "the worker was lost",
  drained: "the worker was drained",
  closed: "opened again elsewhere",
};

const MOVES: readonly Column<FleetMove>[] = [
  lead("Session", "minmax(8rem, 2fr)", ({ session }) => (
    <a href={linkTo("sessions", session)}>{sessions.get(session)?.title ?? session}</a>
  )),
  column("From", "minmax(5rem, 1fr)", ({ from }) => from),
  column("To", "minmax(5rem, 1fr)", ({ to }) => to),
  column("Why", "minmax(8rem, 1fr)", ({ why }) => REASONS[why]),
  column("When", "7rem", ({ at }) => <Ago at={at} />),
];

/** The pool as this gateway sees it. */
export function FleetPage(): JSX.Element {
  const [fleet, failed] = usePolled(() => get<FleetState>("/fleet"), POLL_MS, []);
  if (fleet === undefined) return <Unloaded what="The fleet" failed={failed} />;
  const waiting = fleet.waiting.reduce((sum, { count }) => sum + count, 0);
  return (
    <div class="two-tables">
      <PageHead title={`Fleet: pool ${fleet.pool}`}>
        {fleet.isConnected ? null : <Badge tone="bad">no connection to NATS</Badge>}
      </PageHead>
      <DataTable
        label="Nodes"
        isCompact
        rows={fleet.nodes}
        columns={NODES}
        keyOf={({ id }) => id}
        empty={
          <Empty
            title="No nodes"
            run={`trunkline worker --bus URL --pool ${fleet.pool}`}
            isElsewhere
          />
        }
      />
      <h2 class="between">{waiting === 0 ? "Queue" : `Queue: ${plural(waiting, "request")}`}</h2>
      <DataTable
        label="Queue"
        isCompact
        rows={fleet.waiting}
        columns={QUEUES}
        keyOf={({ labels }) => labelWords(labels)}
        empty={<Empty title="No request waits for a slot" />}
      />
      <h2 class="between">Moves of sessions</h2>
      <DataTable
        label="Moves"
        isCompact
        rows={fleet.moves}
        columns={MOVES}
        keyOf={({ session, at }) => `${session} ${at}`}
        empty={<Empty title="No session has moved to another worker" />}
      />
    </div>
  );
}
