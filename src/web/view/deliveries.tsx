import type { JSX } from "preact";

import type { DeliveryRow } from "../../server/dashboard/api.ts";
import { get } from "../client/request.ts";
import { linkTo } from "../client/router.ts";
import { type Column, DataTable } from "./data-table.tsx";
import { Ago, Badge, type Tone, useLoaded } from "./parts.tsx";

const TONES: Readonly<Record<DeliveryRow["state"], Tone>> = {
  pending: "wait",
  delivered: "good",
  failed: "bad",
  withdrawn: "plain",
};

const COLUMNS: readonly Column<DeliveryRow>[] = [
  {
    name: "Reason",
    isLead: true,
    width: "minmax(7rem, 1fr)",
    cell: ({ reason, session }) =>
      session === undefined ? reason : <a href={linkTo("sessions", session)}>{reason}</a>,
  },
  { name: "Receiver", width: "minmax(8rem, 2fr)", cell: ({ receiver }) => receiver },
  {
    name: "State",
    width: "minmax(8rem, 2fr)",
    cell: ({ state, result }) => (
      <>
        <Badge tone={TONES[state]}>{state}</Badge>
        <span class="sub">{result ?? ""}</span>
      </>
    ),
  },
  { name: "Attempts", width: "5rem", isNumber: true, cell: ({ attempts }) => attempts },
  { name: "Sent", width: "5rem", cell: ({ time }) => <Ago at={time} /> },
];

/** The last notifications and what became of them; nothing before the first. */
export function Deliveries(): JSX.Element | null {
  const [found] = useLoaded(
    () => get<{ deliveries: readonly DeliveryRow[] }>("/notifications"),
    [],
  );
  if (found === undefined || found.deliveries.length === 0) return null;
  return (
    <section aria-label="Last notifications">
      <h2>Last notifications</h2>
      <DataTable
        label="Last notifications"
        rows={found.deliveries}
        columns={COLUMNS}
        keyOf={({ id }) => id}
      />
    </section>
  );
}
