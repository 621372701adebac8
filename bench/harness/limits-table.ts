import type { Figure, Report } from "./report.ts";

const HEADS = ["what", "Trunkline", "baseline", "ratio", "limit", "", "peers' ratio"];

/** The rows of all reports as a table of Markdown: what is limited, and what else a user feels. */
export function limitsTable(reports: readonly Report[]): string {
  const rows = reports.flatMap((report) =>
    report.figures.flatMap((figure) => (figure.row === undefined ? [] : [rowOf(report, figure)])),
  );
  const rule = HEADS.map(() => "---");
  return [HEADS, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function rowOf(report: Report, figure: Figure): string[] {
  const { row = "", of, against, beside, ratio, atMost, atLeast, isMet, peers = "" } = figure;
  const { unit, digits } = report.quantities.find(({ key }) => key === figure.quantity) ?? {
    unit: "",
    digits: 2,
  };
  const median = (name: string | undefined): number | undefined =>
    report.variants.find((each) => each.name === name)?.quantities[figure.quantity]?.median;
  const shown = (value: number | undefined): string =>
    value === undefined ? "" : `${value.toFixed(digits)} ${unit}`.trimEnd();
  const [ours, base] = [median(of), median(against ?? beside)];
  const times = against === undefined ? (ours ?? NaN) / (base ?? NaN) : ratio.median;
  const limited = against === undefined ? ` ${unit}`.trimEnd() : "";
  const limit = [
    ...(atMost === undefined ? [] : [`≤ ${atMost}${limited}`]),
    ...(atLeast === undefined ? [] : [`≥ ${atLeast}${limited}`]),
  ].join(", ");
  const verdict = limit === "" ? "" : isMet ? "ok" : "**missed**";
  const relation = base === undefined ? "" : times.toFixed(2);
  return [row, shown(ours), shown(base), relation, limit, verdict, peers];
}

const [BEGIN, END] = ["<!-- measured -->\n", "<!-- /measured -->"];

/** Replaces the table in a document. Throws if the document has no place for it. */
export function fillMeasured(document: string, measured: string): string {
  const from = document.indexOf(BEGIN);
  const to = document.indexOf(END, from);
  if (from < 0 || to < 0) {
    throw new Error(`The document has no place for the table: ${BEGIN.trim()} … ${END}`);
  }
  return `${document.slice(0, from)}${BEGIN}\n${measured}\n\n${document.slice(to)}`;
}
