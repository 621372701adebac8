import { TrunklineError } from "../../base/errors.ts";
import { mask } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { wholeAuditBackwards } from "../../store/audit/whole-audit.ts";
import type { Invocation } from "../shell/command.ts";
import { table } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";

type Entry = Readonly<Record<string, unknown>>;

/** `trunkline audit search [WORD…]` */
export async function search(
  invocation: Invocation<{ readonly limit: string; readonly json?: boolean }>,
): Promise<number> {
  const { values, positionals, out, err } = invocation;
  if (!/^[1-9]\d{0,6}$/.test(values.limit)) {
    throw new TrunklineError("usage", `--limit takes a number from 1 on, not '${values.limit}'.`);
  }
  const most = Number(values.limit);
  const words = positionals.map((word) => word.toLowerCase());
  const { data } = (await openQuietApp(invocation)).config;
  const found: Entry[] = [];
  for await (const { entry } of wholeAuditBackwards(data)) {
    const text = JSON.stringify(entry).toLowerCase();
    if (words.every((word) => text.includes(word))) found.push(mask(entry) as Entry);
    if (found.length === most) break;
  }
  if (values.json === true) out(`${JSON.stringify({ entries: found }, null, 2)}\n`);
  else if (found.length === 0) err("The audit has no such entry.\n");
  else out(table([HEADINGS, ...found.map(rowOf)]));
  return 0;
}

const HEADINGS = ["TIME", "CALLER", "WHAT", "OUTCOME", "DETAILS"];
/** Characters of the details of an entry; `--json` has all of them. */
const LONGEST = 80;

function rowOf(entry: Entry): string[] {
  const { time, caller, tool, event, outcome, reason, arguments: args, by, title } = entry;
  const details = visibleLine(textOf(reason ?? args ?? title));
  const shown = details.length > LONGEST ? `${details.slice(0, LONGEST - 1)}…` : details;
  return [
    textOf(time).slice(0, 19).replace("T", " "),
    visibleLine(textOf(caller ?? by)),
    visibleLine(textOf(tool ?? event)),
    visibleLine(textOf(chosen(outcome))),
    shown,
  ];
}

/** A permission has what was chosen, such as `allow_once`, or that nobody chose. */
function chosen(outcome: unknown): unknown {
  if (typeof outcome !== "object" || outcome === null) return outcome;
  const { kind, outcome: what } = outcome as {
    readonly kind?: unknown;
    readonly outcome?: unknown;
  };
  return kind ?? what;
}

function textOf(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
