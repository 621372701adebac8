import type { Figure, Report } from "./report.ts";
import type { Spread } from "./spread.ts";

/** A report as text for people. */
export function renderReport(report: Report): string {
  const { bench, describe, rounds, quantities, variants, figures, skipped } = report;
  const measured = renderTable([
    ["", ...quantities.map(({ label, unit }) => `${label} ${unit}`.trim())],
    ...variants.map(({ name, quantities: found }) => [
      name,
      ...quantities.map(({ key, digits }) => spreadText(found[key], digits)),
    ]),
  ]);
  const compared = renderTable(
    figures.map((figure) => [
      verdictOf(figure),
      `${labelOf(report, figure)}: ${dividendOf(figure)}`,
      `${spreadText(figure.ratio, 2)} ${unitOf(report, figure)}`.trimEnd(),
      targetText(figure),
    ]),
  );
  const left = skipped.map(({ name, reason }) => `SKIP  ${name}: ${reason}`);
  return [
    `${bench}: ${describe}; ${rounds} ${rounds === 1 ? "round" : "rounds"}`,
    measured,
    compared,
    ...left,
  ]
    .filter((part) => part !== "")
    .join("\n");
}

/** Columns as wide as needed: text to the left, numbers to the right. */
function renderTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  const pad = (cell: string, at: number): string => {
    const isCount = /^[\d.]+(?: |$)/.test(cell) || rows[0]?.[0] === "";
    return isCount && at > 0 ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
  };
  return rows.map((row) => `  ${row.map(pad).join("  ")}`.trimEnd()).join("\n");
}

function verdictOf({ isMet, atMost, atLeast }: Figure): string {
  if (atMost === undefined && atLeast === undefined) return "    ";
  return isMet ? "ok  " : "MISS";
}

function labelOf({ quantities }: Report, { quantity }: Figure): string {
  return quantities.find(({ key }) => key === quantity)?.label ?? quantity;
}

function spreadText(spread: Spread | undefined, digits: number): string {
  if (spread === undefined) return "";
  const [median, lowest, highest] = [spread.median, spread.lowest, spread.highest].map((value) =>
    value.toFixed(digits),
  );
  return lowest === highest ? `${median}` : `${median} (${lowest}–${highest})`;
}

function targetText({ atMost, atLeast }: Figure): string {
  if (atMost !== undefined) return `target ≤ ${atMost}`;
  if (atLeast !== undefined) return `target ≥ ${atLeast}`;
  return "";
}

function dividendOf({ of, against }: Figure): string {
  return against === undefined ? of : `${of} / ${against}`;
}

function unitOf({ quantities }: Report, { quantity, against }: Figure): string {
  if (against !== undefined) return "×";
  return quantities.find(({ key }) => key === quantity)?.unit ?? "";
}
