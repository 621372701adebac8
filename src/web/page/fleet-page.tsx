import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import type {
  FleetMove,
  FleetNode,
  FleetQueue,
  FleetState,
} from "../../server/dashboard/fleet-api.ts";
import { get } from "../client/request.ts";
import { linkTo } from "../client/router.ts";
import { sessions } from "../client/state.ts";
import { plural } from "../text/format.ts";
import { type Column, DataTable } from "../view/data-table.tsx";
import {
  Ago,
  Badge,
  Command,
  Empty,
  PageHead,
  TwoLines,
  Unloaded,
  useLoaded,
} from "../view/parts.tsx";

const POLL_MS = 2_000;

function labelWords(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}

const NODES: readonly Column<FleetNode>[] = [
  {
    name: "State",
    width: "6rem",
    cell: ({ isDraining }) =>
      isDraining ? <Badge tone="wait">draining</Badge> : <Badge tone="good">up</Badge>,
  },
  {
    name: "Node",
    isLead: true,
    width: "minmax(8rem, 2fr)",
    cell: ({ name, role, url }) => (
      <TwoLines main={name} sub={url === undefined ? role : `${role} at ${url}`} />
    ),
  },
  {
    name: "Slots",
    width: "9rem",
    cell: ({ role, name, used, slots }) =>
      role === "worker" ? (
        <span class="slots">
          <meter
            min={0}
            max={Math.max(slots, 1)}
            value={used}
            aria-label={`Used slots of ${name}`}
          />
          {` ${used} of ${slots}`}
        </span>
      ) : (
        ""
      ),
  },
  {
    name: "Sessions",
    width: "5rem",
    isNumber: true,
    cell: ({ role, sessions: open }) => (role === "worker" ? open : ""),
  },
  { name: "Labels", width: "minmax(6rem, 2fr)", cell: ({ labels }) => labelWords(labels) },
  { name: "Version", width: "6rem", cell: ({ version }) => version },
  { name: "Seen since", width: "7rem", cell: ({ since }) => <Ago at={since} /> },
];

const QUEUES: readonly Column<FleetQueue>[] = [
  {
    name: "Asks for",
    isLead: true,
    width: "minmax(8rem, 1fr)",
    cell: ({ labels }) => labelWords(labels) || "any worker",
  },
  { name: "Requests", width: "6rem", isNumber: true, cell: ({ count }) => count },
];

const REASONS: Readonly<Record<FleetMove["why"], string>> = {
  lost: "the worker was lost",
  drained: "the worker was drained",
  closed: "opened again elsewhere",
};

const MOVES: readonly Column<FleetMove>[] = [
  {
    name: "Session",
    isLead: true,
    width: "minmax(8rem, 2fr)",
    cell: ({ session }) => (
      <a href={linkTo("sessions", session)}>{sessions.get(session)?.title ?? session}</a>
    ),
  },
  { name: "From", width: "minmax(5rem, 1fr)", cell: ({ from }) => from },
  { name: "To", width: "minmax(5rem, 1fr)", cell: ({ to }) => to },
  { name: "Why", width: "minmax(8rem, 1fr)", cell: ({ why }) => REASONS[why] },
  { name: "When", width: "7rem", cell: ({ at }) => <Ago at={at} /> },
];

/** The pool as this gateway sees it. */
export function FleetPage(): JSX.Element {
  const [fleet, failed, reload] = useLoaded(() => get<FleetState>("/fleet"), []);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, POLL_MS);
    return () => clearInterval(timer);
  }, []);
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
          <Empty title="No nodes">
            <Command run={`trunkline worker --bus URL --pool ${fleet.pool}`} isElsewhere />
          </Empty>
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
