import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";

import type { Traffic, TrafficRow } from "../../server/dashboard/session-api.ts";
import { get } from "../client/request.ts";
import { bytes, milliseconds, prettyIn } from "../text/format.ts";
import { code, type Column, column, DataTable, lead, numbers } from "../view/data-table.tsx";
import { Button, CopyButton, Empty, SearchField, useLoaded, usePolled } from "../view/parts.tsx";
import type { OpenSession } from "./open-session.ts";
import { filterTraffic, foldTraffic, type Lane, type TrafficGroup } from "./traffic-rows.ts";

const LANES: readonly Lane[] = ["client", "agent", "stderr"];
const PAGE = 2000;
const POLL_MS = 1000;

/** Messages between editors, Trunkline and the agent, as they passed. */
export function TrafficView({ session }: { readonly session: OpenSession }): JSX.Element {
  const [rows, missing] = useTraffic(session);
  const [search, setSearch] = useState("");
  const [lanes, setLanes] = useState<ReadonlySet<Lane>>(new Set(LANES));
  const groups = useMemo(
    () => foldTraffic(filterTraffic(rows, lanes, search)),
    [rows, lanes, search],
  );
  return (
    <div class="traffic">
      <div class="toolbar">
        <div class="filters" role="group" aria-label="Lanes">
          {LANES.map((lane) => (
            <button
              key={lane}
              type="button"
              class="quiet"
              aria-pressed={lanes.has(lane)}
              onClick={() => {
                const next = new Set(lanes);
                if (!next.delete(lane)) next.add(lane);
                setLanes(next);
              }}
            >
              {lane}
            </button>
          ))}
        </div>
        <SearchField label="Filter traffic" value={search} onInput={setSearch} />
        <span class="note">
          {rows.length} messages{groups.length < rows.length ? `, ${groups.length} rows` : ""}
        </span>
      </div>
      <DataTable
        label="Traffic"
        class="dense"
        rows={groups}
        columns={COLUMNS}
        keyOf={({ first }) => String(first.n)}
        rowClass={({ first }) => `${first.lane} ${first.kind}`}
        detail={(group) => <Message session={session} group={group} />}
        empty={
          <Empty title={rows.length > 0 ? "No message matches" : "No traffic is kept"}>
            {rows.length > 0 ? "" : (missing ?? "Messages appear here while the session is used.")}
          </Empty>
        }
      />
    </div>
  );
}

const COLUMNS: readonly Column<TrafficGroup>[] = [
  code("Time", "7.5rem", ({ first }) => new Date(first.at).toISOString().slice(11, 23)),
  column("Between", "minmax(7rem, 1fr)", ({ first }) => <Between row={first} />),
  { ...lead("Message", "minmax(10rem, 3fr)", (group) => <Name group={group} />), isCode: true },
  code("Id", "4rem", ({ first }) => first.id ?? ""),
  numbers("Latency", "5rem", ({ first }) =>
    first.latency === undefined ? "" : milliseconds(first.latency),
  ),
  numbers("Size", "5rem", ({ size }) => bytes(size)),
];

function Between({ row: { lane, peer, direction } }: { readonly row: TrafficRow }): JSX.Element {
  const arrow = direction === "in" ? "→" : "←";
  return (
    <span title={direction === "in" ? `from ${peer}` : `to ${peer}`}>
      {lane === "stderr" ? `${peer} stderr` : `${peer} ${arrow}`}
    </span>
  );
}

function Name({ group: { first, count } }: { readonly group: TrafficGroup }): JSX.Element {
  if (first.kind === "line") return <span class="line">{first.text}</span>;
  return (
    <>
      <span class={`kind-mark ${first.kind}`}>{first.kind}</span> {first.method ?? ""}
      {first.update === undefined ? "" : ` · ${first.update}`}
      {count > 1 ? <span class="times"> ×{count}</span> : null}
    </>
  );
}

/** One message in full, and a way to the other half of its pair. */
function Message({ session, group }: { session: OpenSession; group: TrafficGroup }): JSX.Element {
  const { first, last, count } = group;
  const [n, setNumber] = useState(first.n);
  const [isRaw, setRaw] = useState(false);
  const [found, failed] = useLoaded(
    () => get<{ text: string }>(`${session.path}/traffic/${n}`),
    [n],
  );
  const text = found?.text ?? "";
  return (
    <div class="message-detail">
      <div class="toolbar">
        {count > 1 ? (
          <>
            <Button class="quiet small" disabled={n <= first.n} onClick={() => setNumber(n - 1)}>
              Previous
            </Button>
            <Button class="quiet small" disabled={n >= last.n} onClick={() => setNumber(n + 1)}>
              Next
            </Button>
          </>
        ) : null}
        {first.pair === undefined ? null : (
          <Button
            class="quiet small"
            aria-pressed={n === first.pair}
            onClick={() => setNumber(n === first.pair ? first.n : (first.pair ?? first.n))}
          >
            {first.kind === "request" ? "Its response" : "Its request"}
          </Button>
        )}
        <Button class="quiet small" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          Raw
        </Button>
        <CopyButton text={text} label="Copy message" />
        <span class="note">number {n}</span>
      </div>
      <pre tabIndex={0} aria-label="Message" class={isRaw ? "wrapped" : ""}>
        {failed ?? (isRaw ? text : (prettyIn(text) ?? text))}
      </pre>
    </div>
  );
}

/** Loads the last messages, and asks for new ones while they are shown. */
function useTraffic(session: OpenSession): [readonly TrafficRow[], string | undefined] {
  const known = useRef<{
    rows: readonly TrafficRow[];
    from?: number;
    asking?: Promise<Traffic["missing"]> | undefined;
  }>({ rows: [] }).current;
  const ask = async (): Promise<Traffic["missing"]> => {
    const path = `${session.path}/traffic`;
    if (known.from === undefined) {
      const { first, last } = await get<Traffic>(`${path}?limit=1`);
      known.from = Math.max(first, last - PAGE + 1);
    }
    const { rows, missing } = await get<Traffic>(`${path}?from=${known.from}&limit=${PAGE}`);
    known.from = (rows.at(-1)?.n ?? known.from - 1) + 1;
    if (rows.length > 0) known.rows = [...known.rows, ...rows];
    return missing;
  };
  const [found, failed] = usePolled(
    async () => {
      // A slow answer is not asked for twice.
      known.asking ??= ask().finally(() => (known.asking = undefined));
      return { missing: await known.asking };
    },
    POLL_MS,
    [session],
  );
  return [known.rows, failed ?? found?.missing];
}
