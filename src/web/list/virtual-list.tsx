import type { ComponentChildren, JSX, RefObject } from "preact";
import { useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks";

import { DrawnRows, type RowRange } from "./drawn-rows.ts";
import { RowHeights } from "./row-heights.ts";

export interface VirtualListProps {
  readonly count: number;
  readonly keyOf: (index: number) => string | number;
  readonly render: (index: number) => ComponentChildren;
  /** The height of a row that was not measured yet. */
  readonly estimate: number;
  readonly label: string;
  readonly class?: string;
  /** `feed`: read from top to bottom; `grid`: rows of cells that can be selected. */
  readonly kind: "feed" | "grid";
  /** Shows the end, and follows it while the reader is there. */
  readonly followsEnd?: boolean;
  /** Called when rows near the first one are shown, to load earlier ones. */
  readonly onNearStart?: () => void;
  /** The row that the keyboard has chosen; it is kept in view. */
  readonly selected?: number;
  /** The header row of a grid. */
  readonly head?: ComponentChildren;
  /** Takes no more room than its rows need. */
  readonly isCompact?: boolean;
}

/** Rows outside of the view that are kept ready, in pixels. */
const MARGIN = 400;
const NEAR_START = 1500;
/** Closer to the end than this, the reader is at the end. */
const AT_END = 40;

/** A list that has only the rows in view in the document, of any heights. */
export function VirtualList(props: VirtualListProps): JSX.Element {
  const { count, keyOf, render, kind, label, head } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const list = useMemo(() => new ListState(props.estimate), []);
  list.begin(props, scroller, () => redraw(undefined));
  const { first, last } = list.range(props);
  useLayoutEffect(() => list.watch(), []);
  useLayoutEffect(() => list.settle());
  useLayoutEffect(() => list.reveal(props.selected), [props.selected]);
  // Unchanged content is the same object, which Preact does not look into again when a list scrolls.
  const contents = useMemo(() => new Map<number, JSX.Element>(), [render]);
  const rows: JSX.Element[] = [];
  for (let index = first; index < last; index++) {
    const content = contents.get(index) ?? <RowContent index={index} render={render} />;
    contents.set(index, content);
    rows.push(
      <div
        class="row"
        key={keyOf(index)}
        data-index={index}
        ref={list.measure}
        style={{ transform: `translateY(${list.heights.offsetOf(index)}px)` }}
        {...(kind === "feed"
          ? { role: "article", "aria-posinset": index + 1, "aria-setsize": count }
          : {
              role: "row",
              "aria-rowindex": index + 2,
              "aria-selected": index === props.selected,
              tabIndex: index === props.selected ? 0 : -1,
            })}
      >
        {content}
      </div>,
    );
  }
  return (
    <div
      class={`list ${props.class ?? ""}`}
      ref={scroller}
      tabIndex={0}
      aria-label={label}
      onScroll={list.scrolled}
      {...(props.isCompact === true
        ? { style: { flex: `0 1 calc(${list.heights.total}px + 2rem)` } }
        : {})}
      {...(kind === "feed" ? { role: "feed" } : { role: "grid", "aria-rowcount": count + 1 })}
    >
      {head}
      <div
        class="rows"
        style={{ height: `${list.heights.total}px` }}
        {...(kind === "grid" ? { role: "rowgroup" } : { role: "presentation" })}
      >
        {rows}
      </div>
    </div>
  );
}

/** A component of its own, so that it follows the signals that it reads. */
function RowContent({ index, render }: Pick<VirtualListProps, "render"> & { index: number }) {
  return <>{render(index)}</>;
}

class ListState {
  readonly heights: RowHeights;
  #props: VirtualListProps | undefined;
  #scroller: RefObject<HTMLDivElement | null> | undefined;
  #redraw: () => void = () => {};
  /** A row that was in view, by which rows in front of it are noticed. */
  #anchor: { readonly index: number; readonly key: string | number } | undefined;
  #isAtEnd = true;
  #wasRevealed: number | undefined;
  #toFocus: number | undefined;
  readonly #drawn = new DrawnRows();
  /** Draws in another task, such as the rows that were too many for one drawing. */
  #rest: ReturnType<typeof setTimeout> | undefined;
  readonly #observer = new ResizeObserver((entries) => this.#measured(entries));

  constructor(estimate: number) {
    this.heights = new RowHeights(estimate);
  }

  /** Takes the rows of this drawing. Rows that came in front of the former first one keep the view in place. */
  begin(
    props: VirtualListProps,
    scroller: RefObject<HTMLDivElement | null>,
    redraw: () => void,
  ): void {
    const { count, followsEnd } = props;
    const front = followsEnd === true ? this.#addedInFront(props) : 0;
    if (front > 0) {
      this.heights.prepend(front);
      this.heights.resize(count);
      this.#shift(scroller, this.heights.offsetOf(front));
    } else {
      this.heights.resize(count);
    }
    this.#props = props;
    this.#scroller = scroller;
    this.#redraw = redraw;
  }

  /** The rows to draw now. The rest of those that are wanted follows in other tasks. */
  range(props: VirtualListProps): RowRange {
    const { count } = this.heights;
    const box = this.#scroller?.current;
    const height = box?.clientHeight ?? 800;
    const top = box?.scrollTop ?? 0;
    const isEnd = props.followsEnd === true && this.#isAtEnd;
    const from = isEnd ? Math.max(0, this.heights.total - height) : top;
    if (count === 0) return { first: 0, last: 0 };
    const rowsIn = (start: number, end: number): RowRange => ({
      first: this.heights.indexAt(Math.max(0, start)),
      last: Math.min(count, this.heights.indexAt(end) + 1),
    });
    const view = rowsIn(from, from + height);
    const ready = rowsIn(from - MARGIN, from + height + MARGIN);
    const { first, last } = this.#drawn.choose(view, ready, props.keyOf, isEnd);
    // A timer: an animation frame that is requested in a scroll event would still run in the same frame.
    if (!this.#drawn.isWhole) this.#drawLater();
    this.#anchor = { index: last - 1, key: props.keyOf(last - 1) };
    return { first, last };
  }

  /** A ref for rows: their heights are measured for as long as they are shown. */
  readonly measure = (row: HTMLElement | null): (() => void) | undefined => {
    if (row === null) return undefined;
    this.#observer.observe(row);
    return () => this.#observer.unobserve(row);
  };

  readonly scrolled = (): void => {
    const box = this.#scroller?.current;
    if (box === null || box === undefined) return;
    this.#isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < AT_END;
    if (box.scrollTop < NEAR_START) this.#props?.onNearStart?.();
    this.#redraw();
  };

  watch(): () => void {
    const box = this.#scroller?.current;
    const resized = new ResizeObserver(() => {
      this.settle();
      this.#drawLater();
    });
    if (box !== null && box !== undefined) resized.observe(box);
    return () => {
      resized.disconnect();
      this.#observer.disconnect();
      clearTimeout(this.#rest);
    };
  }

  #drawLater(): void {
    this.#rest ??= setTimeout(() => {
      this.#rest = undefined;
      this.#redraw();
    }, 0);
  }

  /** After each drawing: a reader at the end stays there, and a list that is not full asks for more. */
  settle(): void {
    const box = this.#scroller?.current;
    if (box === null || box === undefined) return;
    const { followsEnd, onNearStart } = this.#props ?? {};
    if (followsEnd === true && this.#isAtEnd) box.scrollTop = box.scrollHeight;
    // Reading `scrollTop` forces a layout, so it is read only if it is needed.
    if (onNearStart !== undefined && box.scrollTop < NEAR_START) onNearStart();
    this.#focusRevealed();
  }

  /** Brings the chosen row into view, and gives it the focus if the list has it. */
  reveal(index: number | undefined): void {
    const box = this.#scroller?.current;
    if (index === undefined || index < 0 || box === null || box === undefined) return;
    if (this.#wasRevealed === undefined && index === 0) return;
    this.#wasRevealed = index;
    const head = box.querySelector<HTMLElement>(".head")?.offsetHeight ?? 0;
    const top = this.heights.offsetOf(index);
    const bottom = top + this.heights.heightOf(index) + head;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
    this.#redraw();
    this.#toFocus = index;
    requestAnimationFrame(() => this.#focusRevealed());
  }

  /** The row may come with a later drawing. */
  #focusRevealed(): void {
    if (this.#toFocus === undefined) return;
    const box = this.#scroller?.current;
    const row = box?.querySelector<HTMLElement>(`[data-index="${this.#toFocus}"]`);
    row?.focus({ preventScroll: true });
    if ((row !== null && row !== undefined) || this.#drawn.isWhole) this.#toFocus = undefined;
  }

  #measured(entries: readonly ResizeObserverEntry[]): void {
    const top = this.#scroller?.current?.scrollTop ?? 0;
    const first = this.heights.indexAt(top);
    const below = this.heights.offsetOf(first) < top ? first + 1 : first;
    let above = 0;
    let hasChanged = false;
    for (const { target } of entries) {
      const index = Number((target as HTMLElement).dataset["index"]);
      // Rows that left the document have no height.
      if (!target.isConnected || index >= this.heights.count) continue;
      const change = this.heights.set(index, (target as HTMLElement).offsetHeight);
      if (change === 0) continue;
      hasChanged = true;
      if (index < below) above += change;
    }
    if (!hasChanged) return;
    const isEnd = this.#props?.followsEnd === true && this.#isAtEnd;
    if (above !== 0 && !isEnd && this.#scroller !== undefined) this.#shift(this.#scroller, above);
    this.#redraw();
  }

  /** A few rows may have been joined at the seam, so the row is looked for around its expected place. */
  #addedInFront({ count, keyOf }: VirtualListProps): number {
    if (this.#anchor === undefined) return 0;
    const { index, key } = this.#anchor;
    const expected = index + count - this.heights.count;
    for (let distance = 0; distance < 100; distance++) {
      for (const at of [expected - distance, expected + distance]) {
        if (at >= 0 && at < count && keyOf(at) === key) return at - index;
      }
    }
    return 0;
  }

  /** Moves the view along with the rows. The container must be tall enough for it first. */
  #shift({ current }: RefObject<HTMLDivElement | null>, by: number): void {
    const rows = current?.querySelector<HTMLElement>(".rows");
    if (current === null || rows === null || rows === undefined) return;
    rows.style.height = `${this.heights.total}px`;
    current.scrollTop += by;
  }
}
