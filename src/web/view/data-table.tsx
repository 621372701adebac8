import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { Collection } from "../client/collection.ts";
import { addShortcuts } from "../client/keyboard.ts";
import { VirtualList } from "../list/virtual-list.tsx";
import { Unloaded } from "./parts.tsx";

export interface Column<T> {
  readonly name: string;
  /** As in CSS grid: "2fr", "6rem". */
  readonly width: string;
  readonly cell: (row: T) => ComponentChildren;
  /** What the row is called: the first line where there is no room for columns. */
  readonly isLead?: boolean;
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean;
  readonly isCode?: boolean;
}

type Cell<T> = Column<T>["cell"];

export function column<T>(name: string, width: string, cell: Cell<T>): Column<T> {
  return { name, width, cell };
}

export function lead<T>(name: string, width: string, cell: Cell<T>): Column<T> {
  return { name, width, cell, isLead: true };
}

export function numbers<T>(name: string, width: string, cell: Cell<T>): Column<T> {
  return { name, width, cell, isNumber: true };
}

export function code<T>(name: string, width: string, cell: Cell<T>): Column<T> {
  return { name, width, cell, isCode: true };
}

/** A collection, which the table loads, and optionally which of its rows to show; or just rows. */
type Source<T> =
  | { readonly of: Collection<T>; readonly rows?: readonly T[] }
  | { readonly of?: undefined; readonly rows: readonly T[]; readonly keyOf: (row: T) => string };

interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly onOpen?: (row: T) => void;
  /** Shown below a row that is open. */
  readonly detail?: (row: T) => ComponentChildren;
  readonly rowClass?: (row: T) => string;
  readonly class?: string;
  readonly empty?: ComponentChildren;
  readonly isCompact?: boolean;
}

/** Rows with columns: virtual, chosen by j and k, opened by Enter or a click. On a phone each row is a card. */
export function DataTable<T>(props: TableProps<T> & Source<T>): JSX.Element {
  const { columns, detail, of } = props;
  const { rows, keyOf } =
    props.of === undefined
      ? props
      : { rows: props.rows ?? props.of.rows.value, keyOf: props.of.idOf };
  const [selected, setSelected] = useState(0);
  const [openKey, setOpen] = useState<string | undefined>(undefined);
  const at = Math.min(selected, rows.length - 1);
  const open = (row: T): void => {
    props.onOpen?.(row);
    if (detail !== undefined) setOpen((key) => (key === keyOf(row) ? undefined : keyOf(row)));
  };
  const move = (by: number) => (): void => {
    // Keys may come faster than the page is drawn.
    setSelected((now) =>
      Math.max(0, Math.min(rows.length - 1, Math.min(now, rows.length - 1) + by)),
    );
  };
  const canOpen = props.onOpen !== undefined || detail !== undefined;
  useEffect(() => {
    const openSelected = (): boolean => {
      const row = rows[at];
      if (row === undefined || !canOpen) return false;
      open(row);
      return true;
    };
    return addShortcuts([
      { keys: "j", says: "Next row", run: move(1) },
      { keys: "k", says: "Previous row", run: move(-1) },
      { keys: "ArrowDown", says: "", run: move(1) },
      { keys: "ArrowUp", says: "", run: move(-1) },
      { keys: "Enter", says: "Open the row", run: openSelected },
    ]);
  }, [rows, at]);
  useEffect(() => {
    of?.load().catch(reportError);
  }, [of]);
  const template = { gridTemplateColumns: columns.map(({ width }) => width).join(" ") };
  const state = of?.state.value ?? "loaded";
  if (rows.length === 0 && state !== "loaded") {
    const failed = typeof state === "object" ? state.failed : undefined;
    return <Unloaded what={props.label} failed={failed} />;
  }
  if (rows.length === 0) return <>{props.empty}</>;
  const cells = (row: T): JSX.Element[] =>
    columns.map(({ name, cell, isLead, isNumber, isCode }) => (
      <div
        key={name}
        role="gridcell"
        data-label={name}
        class={`cell ${isLead === true ? "lead" : ""} ${isNumber === true ? "number" : ""} ${isCode === true ? "mono" : ""}`}
      >
        {cell(row)}
      </div>
    ));
  return (
    <VirtualList
      kind="grid"
      isCompact={props.isCompact ?? false}
      class={`table ${props.class ?? ""}`}
      label={props.label}
      count={rows.length}
      estimate={42}
      selected={at}
      keyOf={(index) => keyOf(rows[index] as T)}
      head={
        <div class="head" role="rowgroup">
          <div class="cells" role="row" aria-rowindex={1} style={template}>
            {columns.map(({ name, isNumber }) => (
              <div key={name} role="columnheader" class={isNumber === true ? "number" : ""}>
                {name}
              </div>
            ))}
          </div>
        </div>
      }
      render={(index) => {
        const row = rows[index] as T;
        const isOpen = detail !== undefined && openKey === keyOf(row);
        return (
          <>
            <div
              class={`cells ${canOpen ? "can-open" : ""} ${props.rowClass?.(row) ?? ""}`}
              role="presentation"
              style={template}
              onClick={(event) => {
                setSelected(index);
                // Buttons and links in a row do their own work.
                if ((event.target as Element).closest("button, a, input, select") === null)
                  open(row);
              }}
            >
              {cells(row)}
            </div>
            {isOpen ? (
              <div class="detail" role="gridcell">
                {detail(row)}
              </div>
            ) : null}
          </>
        );
      }}
    />
  );
}
