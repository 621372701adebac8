import { createServer } from "node:http";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";

import { webApp } from "../scripts/web-app.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../test/browser/dashboard-browser.ts";
import { tasksOf } from "../test/browser/page-tasks.ts";
import { GuardedHome } from "../test/support/guarded-gateway.ts";
import type { Bench, Sample, Variant } from "./harness/bench.ts";
import { ROOT } from "./harness/program.ts";
import { fillSessions } from "./user-waits.ts";

const WEB = join(ROOT, "dist/web");
const FIRST = 2_000;
const MANY = 10_000;
/** What a window of this height shows. */
const ROWS = 30;

const DASHBOARD = `the dashboard with ${FIRST} sessions`;
const LONG = `the dashboard with ${MANY} sessions`;
const PLAIN = "a plain page with as many rows as the dashboard shows";

/** What somebody waits for who opens the list of sessions, beside a page of plain HTML. */
export const dashboard: Bench = {
  name: "dashboard",
  plan: async ({ quick }) => {
    const missing = existsSync(WEB) ? undefined : "npm run build makes dist";
    const reason = missing ?? (chromiumPath() === undefined ? NO_CHROMIUM : undefined);
    const scripts = reason === undefined ? await sizeOfScripts() : NaN;
    const ending = new AsyncDisposableStack();
    const variants = async (): Promise<Variant[]> => {
      const browser = ending.use(await DashboardBrowser.launch());
      const page = ending.use(await plainPage());
      const all = [{ name: PLAIN, measure: () => measured(browser, page.url, scripts) }];
      for (const [name, count] of [[DASHBOARD, FIRST] as const, [LONG, MANY] as const]) {
        const home = ending.use(new GuardedHome({ log: { level: "error" } }));
        await fillSessions(home.data, count);
        const { ready, owner } = ending.use(await home.serve());
        const shown = { count, headers: { ...owner } };
        all.push({ name, measure: () => measured(browser, ready.url, scripts, shown) });
      }
      return all;
    };
    return {
      describe: "from the address to the page, in Chromium, each time without a cache",
      rounds: quick ? 5 : 21,
      quantities: [
        { key: "paint", label: "first paint", unit: "ms", digits: 0 },
        { key: "listed", label: "all rows are there", unit: "ms", digits: 0 },
        { key: "longest", label: "longest task, by the clock", unit: "ms", digits: 0 },
        { key: "cost", label: "longest task, processor time", unit: "ms", digits: 0 },
        { key: "work", label: "processor time of the page", unit: "ms", digits: 0 },
        { key: "scripts", label: "scripts, compressed", unit: "KB", digits: 1 },
      ],
      variants: reason === undefined ? await variants() : [],
      skipped: reason === undefined ? [] : [{ name: DASHBOARD, reason }],
      comparisons: [
        {
          ...{ row: "first paint of the dashboard, against a plain page", quantity: "paint" },
          ...{ of: DASHBOARD, against: PLAIN, atMost: 2.5 },
        },
        {
          ...{ row: `${FIRST} sessions in the dashboard, until all are there`, quantity: "listed" },
          ...{ of: DASHBOARD, atMost: 1_000 },
        },
        {
          ...{ row: "the page's processor time until then", quantity: "work" },
          ...{ of: DASHBOARD, beside: PLAIN },
        },
        {
          ...{ row: "the longest task meanwhile, by the clock", quantity: "longest" },
          ...{ of: DASHBOARD, atMost: 100 },
        },
        {
          ...{ row: `${MANY} sessions, until all are there`, quantity: "listed", of: LONG },
        },
        {
          ...{ row: "the longest task meanwhile and in scrolling, by the clock", of: LONG },
          ...{ quantity: "longest", atMost: 100 },
        },
        {
          ...{ row: "scripts of the dashboard, compressed", quantity: "scripts" },
          ...{ of: DASHBOARD, atMost: 60 },
        },
      ],
      end: () => ending.disposeAsync(),
    };
  },
};

/** Opens the list of sessions, and scrolls a long one; or the plain page. */
async function measured(
  browser: DashboardBrowser,
  url: string,
  scripts: number,
  shown?: { readonly count: number; readonly headers: Record<string, string> },
): Promise<Sample> {
  await using watched = await browser.open({ extraHTTPHeaders: shown?.headers ?? {} });
  const { page } = watched;
  // A person's window has been open for long: a new one loads pages of the browser's own meanwhile.
  await setTimeout(2_000);
  let listed = 0;
  const { longest, costs } = await tasksOf(page, async () => {
    await page.goto(`${url}/#/sessions`);
    if (shown === undefined) return;
    listed = Number(await page.evaluate(untilListed(shown.count)));
    if (shown.count === MANY) await page.evaluate(SCROLL);
  });
  const work = costs.reduce((sum, cost) => sum + cost, 0);
  const paint = Number(await page.evaluate(FIRST_PAINT));
  return { paint, listed, longest, cost: costs[0] ?? 0, work, scripts };
}

/** Kilobytes of the scripts, as they are sent. */
async function sizeOfScripts(): Promise<number> {
  const { build } = await webApp(ROOT);
  const scripts = [...build.chunks].filter(([name]) => name.endsWith(".js"));
  return scripts.reduce((sum, [, content]) => sum + gzipSync(content).length, 0) / 1000;
}

/** A heading and rows as HTML, in the dashboard's style. */
async function plainPage(): Promise<AsyncDisposable & { readonly url: string }> {
  const style = readdirSync(WEB).find((name) => name.endsWith(".css")) ?? "";
  const row = "<tr><td>idle</td><td>Mend the part</td><td>project</td><td>trunkline</td></tr>";
  const html = `<!doctype html><title>Sessions</title><link rel="stylesheet" href="/style.css">
    <h1>Sessions</h1><table>${row.repeat(ROWS)}</table>`;
  const server = createServer(({ url }, response) => {
    const isStyle = url === "/style.css";
    response.setHeader("content-type", isStyle ? "text/css" : "text/html");
    response.end(isStyle ? readFileSync(join(WEB, style)) : html);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

// Runs in the browser: times are since the address was opened.
const FIRST_PAINT = `performance.getEntriesByName("first-contentful-paint")[0].startTime`;
const untilListed = (count: number): string => `new Promise((resolve) => {
  const look = () => {
    const isListed = document.querySelector(".page-head .note")?.textContent === "${count}";
    if (isListed) resolve(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})`;
/** Turns of the wheel, one in each frame, and jumps as with the scroll bar. */
const SCROLL = `new Promise((resolve) => {
  const list = document.querySelector("[role=grid]");
  let turn = 0;
  const next = () => {
    if (turn < 60) list.scrollTop += 120;
    else list.scrollTop = ((turn * 7) % 20) / 20 * list.scrollHeight;
    if (++turn < 80) requestAnimationFrame(next);
    else resolve();
  };
  next();
})`;
