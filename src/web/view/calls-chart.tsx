import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { ToolCalls } from "../../gateway/dashboard/api.ts";
import { callSeries } from "../text/call-series.ts";

/** Calls and errors, and the latency, of the last hour. The library is loaded when it is first shown. */
export function CallsChart({ rows }: { readonly rows: readonly ToolCalls[] }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let isShown = true;
    let drawn: (() => void) | undefined;
    import("./draw-charts.ts").then(
      ({ drawCharts }) => {
        if (!isShown || box.current === null) return;
        drawn = drawCharts(box.current, callSeries(rows, Date.now()));
      },
      (error: unknown) => reportError(error),
    );
    return () => {
      isShown = false;
      drawn?.();
    };
  }, [rows]);
  const calls = rows.reduce((sum, row) => sum + row.calls, 0);
  const errors = rows.reduce((sum, row) => sum + row.errors, 0);
  return (
    <div
      class="charts"
      ref={box}
      role="img"
      aria-label={`In the last hour ${calls} calls, of which ${errors} failed`}
    />
  );
}
