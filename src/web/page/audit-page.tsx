import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { AuditRow, Page } from "../../server/dashboard/api.ts";
import { get } from "../client/request.ts";
import { go, linkTo, route } from "../client/router.ts";
import { clock, milliseconds } from "../text/format.ts";
import { code, type Column, column, DataTable, lead, numbers } from "../view/data-table.tsx";
import {
  act,
  Badge,
  Button,
  CopyButton,
  Empty,
  PageHead,
  SearchField,
  type Tone,
  TwoLines,
} from "../view/parts.tsx";

const PAGE = 200;
/** The time after the last key until the server is asked. */
const TYPING_MS = 250;

function toneOf(outcome: string | undefined): Tone {
  if (outcome === undefined) return "plain";
  return /deni|refus|reject|error|fail|held/i.test(outcome) ? "bad" : "good";
}

const COLUMNS: readonly Column<AuditRow>[] = [
  code("Time", "10rem", ({ time }) => clock(Date.parse(time))),
  lead("What", "minmax(9rem, 2fr)", ({ event, tool }) => (
    <TwoLines main={tool ?? event} sub={tool === undefined ? "" : event} code="main" />
  )),
  column("Who", "minmax(7rem, 1.5fr)", ({ caller, door }) => (
    <TwoLines main={caller ?? ""} sub={door} />
  )),
  column("Outcome", "minmax(8rem, 2fr)", ({ outcome, reason }) => (
    <>
      {outcome === undefined ? null : <Badge tone={toneOf(outcome)}>{outcome}</Badge>}
      <span class="sub">{reason ?? ""}</span>
    </>
  )),
  numbers("Took", "5rem", ({ milliseconds: took }) =>
    took === undefined ? "" : milliseconds(took),
  ),
];

/** What the address has: the texts of the filters by their names. */
type Filters = Readonly<Record<string, string>>;

const OUTCOMES = ["ok", "error", "refused", "cancelled", "begun", "allow", "reject"] as const;

export function AuditPage(): JSX.Element {
  const address = route.value.query.toString();
  const [filters, setFilters] = useState<Filters>(() => Object.fromEntries(route.value.query));
  const [rows, setRows] = useState<readonly AuditRow[]>([]);
  const [next, setNext] = useState<string | undefined>(undefined);
  const [isLoaded, setLoaded] = useState(false);
  useEffect(() => {
    const wanted = queryOf(filters).toString();
    const timer = setTimeout(() => {
      if (wanted !== address) go(`${linkTo("audit")}?${wanted}`);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [filters]);
  const load = async (cursor: string | undefined, before: readonly AuditRow[]): Promise<void> => {
    const query = new URLSearchParams(address);
    for (const name of ["from", "to"]) {
      const time = Date.parse(query.get(name) ?? "");
      // The fields have the time of the person, without its zone.
      if (!Number.isNaN(time)) query.set(name, new Date(time).toISOString());
    }
    query.set("limit", String(PAGE));
    if (cursor !== undefined) query.set("cursor", cursor);
    const page = await get<Page<AuditRow>>(`/audit?${query.toString()}`);
    setRows([...before, ...page.rows]);
    setNext(page.next);
    setLoaded(true);
  };
  useEffect(() => act(() => load(undefined, [])), [address]);
  const field = (name: string) => ({
    value: filters[name] ?? "",
    onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
      setFilters({ ...filters, [name]: currentTarget.value }),
  });
  return (
    <>
      <PageHead title="Audit" note={`${rows.length}${next === undefined ? "" : "+"} entries`}>
        {next === undefined ? null : (
          <Button class="quiet" onClick={() => act(() => load(next, rows))}>
            Load older
          </Button>
        )}
        <SearchField
          label="Search the audit"
          value={filters["q"] ?? ""}
          onInput={(q) => setFilters({ ...filters, q })}
        />
      </PageHead>
      <div class="toolbar" role="group" aria-label="Filter">
        <input type="text" aria-label="What" placeholder="What" {...field("tool")} />
        <input type="text" aria-label="Who" placeholder="Who" {...field("who")} />
        <select aria-label="Outcome" {...field("outcome")}>
          <option value="">any outcome</option>
          {OUTCOMES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        {["from", "to"].map((name) => (
          <label key={name}>
            {name} <input type="datetime-local" {...field(name)} />
          </label>
        ))}
        {address === "" ? null : (
          <Button class="quiet small" onClick={() => setFilters({})}>
            Clear
          </Button>
        )}
      </div>
      <DataTable
        label="Audit"
        rows={rows}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        detail={({ entry }) => <Entry entry={entry} />}
        empty={
          isLoaded ? (
            <Empty title={address === "" ? "Nothing is recorded yet" : "No entry matches"} />
          ) : (
            <p class="loading">Loading …</p>
          )
        }
      />
    </>
  );
}

function queryOf(filters: Filters): URLSearchParams {
  return new URLSearchParams(Object.entries(filters).filter(([, text]) => text !== ""));
}

function Entry({ entry }: { readonly entry: AuditRow["entry"] }): JSX.Element {
  const text = JSON.stringify(entry, null, 2);
  return (
    <div class="message-detail">
      <div class="toolbar">
        <CopyButton text={text} label="Copy entry" />
      </div>
      <pre tabIndex={0} aria-label="Entry">
        {text}
      </pre>
    </div>
  );
}
