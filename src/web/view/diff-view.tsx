import type { ComponentChildren, JSX, TargetedKeyboardEvent } from "preact";

import type { DiffHunk, DiffLine } from "../text/unified-diff.ts";

/** A place in a diff that can be commented. */
export interface DiffPlace {
  readonly side: "old" | "new";
  readonly line: number;
}

const SIGNS = { same: " ", added: "+", removed: "−" } as const;
/** More lines than a person reads; the rest is counted. */
const MOST_LINES = 4000;

export function DiffView(props: {
  readonly hunks: readonly DiffHunk[];
  readonly label: string;
  /** Called with the line whose number was pressed. */
  readonly onComment?: (place: DiffPlace) => void;
  /** Called with the line whose text was pressed. */
  readonly onAsk?: (place: DiffPlace) => void;
  /** What is shown under a line: threads, and the form of a new comment. */
  readonly under?: (place: DiffPlace) => ComponentChildren;
}): JSX.Element {
  let left = MOST_LINES;
  const rows: JSX.Element[] = [];
  for (const [index, { heading, lines }] of props.hunks.entries()) {
    if (index > 0 || heading !== "") {
      rows.push(
        <tr key={`h${index}`} class="hunk">
          <td colSpan={3}>{heading === "" ? "…" : `… ${heading}`}</td>
        </tr>,
      );
    }
    for (const [at, line] of lines.slice(0, left).entries()) {
      rows.push(
        ...lineRows(line, `${index}.${at}`, { ...props, tabIndex: rows.length > 1 ? -1 : 0 }),
      );
    }
    left -= lines.length;
    if (left <= 0) break;
  }
  return (
    <div class="diff" role="region" aria-label={props.label} tabIndex={0} onKeyDown={goToLine}>
      <table>
        <tbody>{rows}</tbody>
      </table>
      {left < 0 ? <p class="note">The diff is longer; {-left} more lines are not shown.</p> : null}
    </div>
  );
}

/** Tab stops at the first line only, and the arrows go on to others: a diff has thousands. */
function goToLine(event: TargetedKeyboardEvent<HTMLElement>): void {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : undefined;
  const kinds = [".number button", ".text [role=button]"];
  const kind = kinds.find((each) => (event.target as Element).matches(each));
  if (by === undefined || kind === undefined) return;
  event.preventDefault();
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>(kind)];
  stops[stops.indexOf(event.target as HTMLElement) + by]?.focus();
}

function lineRows(
  line: DiffLine,
  key: string,
  {
    onComment,
    onAsk,
    under,
    tabIndex,
  }: Parameters<typeof DiffView>[0] & { readonly tabIndex: number },
): JSX.Element[] {
  const place: DiffPlace =
    line.new === undefined ? { side: "old", line: line.old ?? 0 } : { side: "new", line: line.new };
  const below = under?.(place);
  const number =
    onComment === undefined ? (
      place.line
    ) : (
      <button
        type="button"
        tabIndex={tabIndex}
        title="Comment on this line"
        aria-label={`Comment on ${place.side} line ${place.line}`}
        onClick={() => onComment(place)}
      >
        {place.line}
      </button>
    );
  const row = (
    <tr key={key} class={line.kind}>
      <td class="number">{line.new === undefined ? number : (line.old ?? "")}</td>
      <td class="number">{line.new === undefined ? "" : number}</td>
      <td class="text">
        <span class="sign" aria-hidden="true">
          {SIGNS[line.kind]}
        </span>
        {onAsk === undefined ? (
          line.text
        ) : (
          <AskedText text={line.text} tabIndex={tabIndex} onAsk={() => onAsk(place)} />
        )}
      </td>
    </tr>
  );
  if (below === null || below === undefined) return [row];
  return [
    row,
    <tr key={`${key}u`} class="under">
      <td colSpan={3}>{below}</td>
    </tr>,
  ];
}

/** The text of a line; pressing it shows who wrote it. No button, because text in a button cannot be selected. */
function AskedText(props: { text: string; tabIndex: number; onAsk: () => void }): JSX.Element {
  const { text, tabIndex, onAsk } = props;
  return (
    <span
      role="button"
      tabIndex={tabIndex}
      title="Who wrote it?"
      onClick={() => (getSelection()?.isCollapsed === false ? undefined : onAsk())}
      onKeyDown={({ key }) => (key === "Enter" ? onAsk() : undefined)}
    >
      {text}
    </span>
  );
}

/** Lines that a change adds and removes. */
export function Counts({ added, removed }: { added: number; removed: number }): JSX.Element {
  return (
    <span class="counts">
      <span class="added">+{added}</span> <span class="removed">−{removed}</span>
    </span>
  );
}
