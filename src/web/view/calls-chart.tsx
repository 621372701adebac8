import type { ComponentChildren, JSX } from "preact";

import type { ToolCalls } from "../../server/dashboard/api.ts";
import { type CallMinute, callSeries, roundUp } from "../text/call-series.ts";
import { clock, milliseconds, plural, short } from "../text/format.ts";

// Two small charts of our own: a chart library would weigh more than the rest of the page together.

const HEIGHT = 100;
/** The width of one minute. */
const STEP = 10;

/** Calls and errors, and the latency, of the last hour. */
export function CallsChart({ rows }: { readonly rows: readonly ToolCalls[] }): JSX.Element {
  const series = callSeries(rows, Date.now());
  const calls = series.reduce((sum, minute) => sum + minute.calls, 0);
  const errors = series.reduce((sum, minute) => sum + minute.errors, 0);
  const mostCalls = roundUp(Math.max(...series.map((minute) => minute.calls)));
  const slowest = roundUp(Math.max(...series.map(({ mean }) => mean ?? 0)));
  const height = (share: number): number => HEIGHT * Math.min(1, share);
  return (
    <div class="charts">
      <Chart
        title="Calls a minute"
        note={`${calls} in the hour, ${errors} failed · top ${short(mostCalls)}`}
        series={series}
        says={(minute) => `${plural(minute.calls, "call")}, ${plural(minute.errors, "error")}`}
      >
        {series.flatMap((minute, index) =>
          (["calls", "errors"] as const).map((kind) => {
            const tall = height(minute[kind] / mostCalls);
            if (tall === 0) return null;
            const place = { x: index * STEP + 1, width: STEP - 2, y: HEIGHT - tall, height: tall };
            return <rect key={`${kind}${minute.at}`} class={kind} {...place} />;
          }),
        )}
      </Chart>
      <Chart
        title="Mean latency"
        note={`top ${milliseconds(slowest)}`}
        series={series}
        says={({ mean }) => (mean === undefined ? "no calls" : milliseconds(mean))}
      >
        <path class="line" d={lineOf(series, (mean) => HEIGHT - height(mean / slowest))} />
        {series.map(({ at, mean }, index) =>
          mean === undefined ? null : (
            <path
              key={at}
              class="point"
              d={`M${(index + 0.5) * STEP} ${HEIGHT - height(mean / slowest)}h0`}
            />
          ),
        )}
      </Chart>
    </div>
  );
}

/** A line that is interrupted where there was no call. */
function lineOf(series: readonly CallMinute[], y: (mean: number) => number): string {
  let isDrawing = false;
  return series
    .map(({ mean }, index) => {
      const verb = isDrawing ? "L" : "M";
      isDrawing = mean !== undefined;
      return mean === undefined ? "" : `${verb}${(index + 0.5) * STEP} ${y(mean)}`;
    })
    .join("");
}

function Chart(props: {
  readonly title: string;
  readonly note: string;
  readonly series: readonly CallMinute[];
  readonly says: (minute: CallMinute) => string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { title, note, series, says, children } = props;
  const width = series.length * STEP;
  const [first, last] = [series[0], series.at(-1)];
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong>
        <span class="note">{note}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${note}`}
      >
        {[0, 0.5, 1].map((share) => (
          <line
            key={share}
            class="grid"
            vector-effect="non-scaling-stroke"
            {...{ x1: 0, x2: width, y1: share * HEIGHT, y2: share * HEIGHT }}
          />
        ))}
        {children}
        {series.map((minute, index) => (
          <rect key={minute.at} class="hover" x={index * STEP} y={0} width={STEP} height={HEIGHT}>
            <title>{`${clock(minute.at).slice(0, -3)}: ${says(minute)}`}</title>
          </rect>
        ))}
      </svg>
      <div class="chart-axis" aria-hidden="true">
        <span>{first === undefined ? "" : clock(first.at).slice(-8, -3)}</span>
        <span>{last === undefined ? "" : clock(last.at).slice(-8, -3)}</span>
      </div>
    </figure>
  );
}
