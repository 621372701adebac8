import UPlot from "uplot";

import type { CallSeries } from "../text/call-series.ts";

const HEIGHT = 180;

/** Draws the two charts into a box; gives the function that removes them. */
export function drawCharts(box: HTMLElement, [minutes, calls, errors, mean]: CallSeries): () => void {
  const style = getComputedStyle(box);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: color("--muted"), grid: { stroke: color("--line") }, ticks: { show: false } };
  const width = (): number => {
    const isNarrow = box.clientWidth < 700;
    return Math.max(200, isNarrow ? box.clientWidth : (box.clientWidth - 24) / 2);
  };
  const common = { width: width(), height: HEIGHT, axes: [axis, { ...axis, size: 48 }] };
  const { bars } = UPlot.paths;
  const barPaths = bars === undefined ? {} : { paths: bars({ size: [0.7, 20] }) };
  const charts = [
    new UPlot(
      {
        ...common,
        title: "Calls a minute",
        series: [
          {},
          { label: "calls", stroke: color("--accent"), fill: color("--accent"), ...barPaths },
          { label: "errors", stroke: color("--bad"), fill: color("--bad"), ...barPaths },
        ],
      },
      [minutes, calls, errors],
      box,
    ),
    new UPlot(
      {
        ...common,
        title: "Mean latency, ms",
        series: [
          {},
          { label: "ms", stroke: color("--accent"), width: 2, points: { show: true, size: 5 } },
        ],
      },
      [minutes, mean],
      box,
    ),
  ];
  const resized = new ResizeObserver(() => {
    for (const chart of charts) chart.setSize({ width: width(), height: HEIGHT });
  });
  resized.observe(box);
  return () => {
    resized.disconnect();
    for (const chart of charts) chart.destroy();
  };
}
