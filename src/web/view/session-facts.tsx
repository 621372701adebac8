import type { JSX } from "preact";

import type { SessionRow } from "../../server/dashboard/session-api.ts";
import { money, short, shortPath } from "../text/format.ts";
import { type Column, numbers } from "./data-table.tsx";
import { Ago, Badge, Facts } from "./parts.tsx";

/** The last columns of sessions and runs. */
export const COST_AND_USE: readonly Column<Pick<SessionRow, "cost" | "updated">>[] = [
  numbers("Cost", "4.5rem", ({ cost }) => cost && money(cost)),
  numbers("Used", "4.5rem", ({ updated }) => <Ago at={updated} />),
];

export function StateBadge({ row }: { readonly row: SessionRow }): JSX.Element {
  if (row.state === "waiting") {
    return (
      <Badge tone="wait" title={row.waiting?.says ?? ""}>
        {row.waiting?.for ?? "waiting"}
      </Badge>
    );
  }
  if (row.state === "running") return <Badge tone="busy">running</Badge>;
  const ended = row.ended ?? "end_turn";
  const isBad = ended === "interrupted" || ended === "refusal";
  if (ended === "end_turn") return <Badge>idle</Badge>;
  return <Badge tone={isBad ? "bad" : "plain"}>{ended.replaceAll("_", " ")}</Badge>;
}

/** How full the context is, as a bar with its share. */
export function ContextBar({ context }: { context: SessionRow["context"] }): JSX.Element | null {
  if (context === undefined || context.size <= 0) return null;
  const share = Math.min(1, context.used / context.size);
  const text = `${short(context.used)} of ${short(context.size)} tokens`;
  return (
    <span class={`context ${share > 0.85 ? "full" : ""}`} title={text}>
      <progress max={1} value={share} aria-label={`Context: ${text}`} />
      <span class="share">{Math.round(share * 100)} %</span>
    </span>
  );
}

/** The facts of a session in one line. */
export function SessionFacts(props: {
  row: SessionRow;
  usage: SessionRow["context"];
}): JSX.Element {
  const { row } = props;
  const context = props.usage ?? row.context;
  const facts = [
    ["Agent", row.model === undefined ? row.agent : `${row.agent} · ${row.model}`],
    ["Editor", row.client],
    ["Repository", row.repository === undefined ? shortPath(row.cwd) : repository(row)],
    ["Identity", row.identity],
    ["Cost", row.cost && money(row.cost)],
    ["Context", context && <ContextBar context={context} />],
  ] as const;
  return <Facts facts={facts} />;
}

export function repository({ repository: name, branch }: SessionRow): string {
  return branch === undefined ? (name ?? "") : `${name ?? ""} @ ${branch}`;
}
