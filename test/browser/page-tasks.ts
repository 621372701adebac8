import assert from "node:assert/strict";

import type { Page } from "playwright-core";

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds: when it began, how long it took, and for how much of that it had a processor. */
  readonly ts: number;
  readonly dur?: number;
  readonly tdur?: number;
}

/** What the thread of a page has done, in milliseconds. */
export interface PageTasks {
  /** Processor time of each task, the longest first. */
  readonly costs: readonly number[];
  /** The longest task by the clock. */
  readonly longest: number;
  /** Tasks of 50 ms and more, as `PerformanceObserver` tells them, by the clock. */
  readonly longTasks: number;
}

/** How long the task is that is made long on purpose. */
const PROBE_MS = 80;

/**
 * Records the tasks of a page while `work` is done. `PerformanceObserver("longtask")` goes by the clock,
 * which on a busy machine says little: the trace also has the processor's time of each task. Both must
 * see a task that is made long on purpose, so a record without long tasks means that there were none.
 */
export async function tasksOf(page: Page, work: () => Promise<void>): Promise<PageTasks> {
  const browser = page.context().browser();
  assert.ok(browser !== null);
  await page.evaluate(OBSERVE);
  // A page that is loaded meanwhile is observed, too.
  await page.addInitScript(OBSERVE);
  await browser.startTracing(page, { categories: ["toplevel"] });
  await work();
  const longTasks = Number(await page.evaluate(SEEN));
  await page.evaluate(PROBE);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: readonly TraceEvent[];
  };
  const tasks = traceEvents.filter(
    ({ name, tdur }) => name.endsWith("RunTask") && tdur !== undefined,
  );
  const cost = ({ tdur = 0 }: TraceEvent): number => tdur / 1000;
  // The probe is the last long task of all.
  const probe = tasks.toSorted((a, b) => a.ts - b.ts).findLast((task) => cost(task) > PROBE_MS / 2);
  assert.ok(probe !== undefined, "the trace has the task that was made long");
  assert.ok(Number(await page.evaluate(SEEN)) > longTasks, "the observer has seen it, too");
  const own = tasks.filter(
    ({ pid, tid, ts }) => pid === probe.pid && tid === probe.tid && ts < probe.ts,
  );
  const longest = Math.max(0, ...own.map(({ dur = 0 }) => dur / 1000));
  return { costs: own.map(cost).toSorted((a, b) => b - a), longest, longTasks };
}

// Runs in the browser.
const OBSERVE = `(() => {
  const isObserved = globalThis.longTasks !== undefined;
  globalThis.longTasks = 0;
  if (isObserved) return;
  new PerformanceObserver((list) => { longTasks += list.getEntries().length; }).observe({ type: "longtask" });
})()`;
/** Entries are told a little later. */
const SEEN = `new Promise((resolve) => setTimeout(() => resolve(longTasks), 200))`;
const PROBE = `new Promise((resolve) => setTimeout(() => {
  const end = performance.now() + ${PROBE_MS};
  let turns = 0;
  // By turns as well as by time: on a busy machine the time passes without us.
  for (; performance.now() < end || turns < 3e6; turns++);
  setTimeout(() => resolve(turns), 0);
}, 0))`;
