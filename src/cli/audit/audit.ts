import { resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { mask } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import { verifyAudit } from "../../store/audit/verify-audit.ts";
import { wholeAuditBackwards } from "../../store/audit/whole-audit.ts";
import type { Invocation, OptionValues, Values } from "../shell/command.ts";
import { linesText, print, printList } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";

type Entry = Readonly<Record<string, unknown>>;

/** `trunkline audit search [WORD…]` */
export async function search(
  invocation: Invocation<Values & { readonly limit: string }>,
): Promise<number> {
  const { values, positionals } = invocation;
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
  const rows = [HEADINGS, ...found.map(rowOf)];
  return printList(invocation, { entries: found }, rows, "The audit has no such entry.");
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

/** The outcome of a permission request: the chosen option, such as `allow_once`, or that nobody chose. */
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

/** `trunkline audit verify` */
export async function verify(invocation: Invocation<OptionValues<"anchor">>): Promise<number> {
  const { values, cwd } = invocation;
  const { config } = await openQuietApp(invocation);
  const anchor = values.anchor === undefined ? config.audit?.anchor : resolve(cwd, values.anchor);
  const verdict = await verifyAudit(config.data, anchor);
  const { problems, sealed, unsealed, damaged, cut, writers, repairs } = verdict;
  const by = counted(writers, "process", "processes");
  const lines = [`${counted(sealed, "entry", "entries")} of ${by} match their seals.`];
  if (unsealed > 0) {
    lines.push(`${unsealed} have no seal: their process was killed just after them.`);
  }
  if (damaged > 0) lines.push(`Damaged, as after a full disk: ${counted(damaged, "line")}.`);
  for (const { time, lines: count, file, moved } of repairs) {
    const what = `${count === 1 ? "1 damaged line was" : `${count} damaged lines were`} moved`;
    lines.push(visibleLine(`${what} from ${file} to ${moved} by \`doctor --fix\`, on ${time}.`));
  }
  if (cut > 0) lines.push(`${cut} of other machines cannot be checked: earlier ones are not here.`);
  const notes = problems.map(({ where, says }) => `${where}: ${says}.`);
  if (anchor === undefined) {
    notes.push("Entries that were removed with their seals are found only with `audit.anchor`.");
  }
  const code = problems.length === 0 ? 0 : 1;
  return print(invocation, verdict, linesText(lines), { notes, code });
}
