import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import type { Page } from "playwright-core";

import type { LogEvent } from "../../src/gateway/dashboard/session-api.ts";
import {
  chromiumPath,
  DashboardBrowser,
  NO_CHROMIUM,
  type WatchedPage,
} from "./dashboard-browser.ts";
import { sampleAnswers } from "./sample/sample-answers.ts";
import { type Answers, SampleDashboard } from "./sample/sample-dashboard.ts";
import { EMPTY_OVERVIEW } from "./sample/sample-rows.ts";
import { sampleDetail, sampleSessions } from "./sample/sample-sessions.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** `TRUNKLINE_SCREENSHOTS=docs/images npm test -- browser/pages` writes the pictures of the documents. */
const SCREENSHOTS = process.env["TRUNKLINE_SCREENSHOTS"];

/** Every page, and a text that is there once it has its rows. */
const PAGES: readonly (readonly [name: string, hash: string, text: string])[] = [
  ["start", "#/start", "Connect an assistant"],
  ["sessions", "#/sessions", "Replace moment with Temporal"],
  ["session", "#/sessions/s-0", "It needs a generator"],
  ["changes", "#/sessions/s-0/changes", "PATTERN.lastIndex"],
  ["traffic", "#/sessions/s-0/traffic", "model cache is cold"],
  ["runs", "#/runs", "Upgrade to Node 26"],
  ["run", "#/runs/r-1", "Running the tests"],
  ["review", "#/review", "This swallows the error"],
  ["identities", "#/identities", "ann@acme.example"],
  ["toolbox", "#/toolbox", "github_search"],
  ["approvals", "#/toolbox/approvals", "Always copy the contents"],
  ["calls", "#/toolbox/calls", "Calls a minute"],
  ["servers", "#/servers", "acme.tickets"],
  ["audit", "#/audit", "policy: deny"],
  ["tokens", "#/tokens", "laptop of Ann"],
];

const PICTURES: Readonly<Record<string, "light" | "dark">> = {
  start: "light",
  sessions: "light",
  session: "dark",
  changes: "light",
  traffic: "dark",
  calls: "light",
};

describe(
  "the pages of the dashboard, with sample rows",
  { timeout: 240_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    async function show(server: SampleDashboard, hash: string, text: string): Promise<WatchedPage> {
      const watched = await browser.open();
      await watched.page.goto(`${server.url}/${hash}`);
      await watched.page.getByText(text).first().waitFor();
      return watched;
    }

    it("has no serious accessibility problem, no error and no sideways scrolling, light, dark and at 400 px", async () => {
      await using server = await SampleDashboard.start(sampleAnswers());
      for (const colorScheme of ["light", "dark"] as const) {
        await using watched = await browser.open({ colorScheme });
        const { page } = watched;
        await page.goto(server.url);
        // The dark colours are the same on all pages.
        const pages = PAGES.filter(
          ([name]) => colorScheme === "light" || PICTURES[name] === "dark",
        );
        for (const [name, hash, text] of pages) {
          await page.evaluate(`location.assign(${JSON.stringify(hash)})`);
          await page.getByText(text).first().waitFor();
          if (PICTURES[name] === colorScheme) await picture(page, name);
          watched.expectClean();
          assert.deepEqual(await problemsOf(page), [], `${name}, ${colorScheme}`);
          await page.setViewportSize({ width: 400, height: 800 });
          const width = Number(await page.evaluate("document.documentElement.scrollWidth"));
          assert.ok(width <= 400, `${name} is ${width} px wide`);
          await page.setViewportSize({ width: 1280, height: 800 });
        }
      }
    });

    it("leads somebody who has nothing configured, and shows at once when a step has worked", async () => {
      const overview = { "GET /api/overview": () => EMPTY_OVERVIEW } satisfies Answers;
      await using server = await SampleDashboard.start({ ...sampleAnswers(), ...overview });
      await using watched = await show(server, "", "Welcome to Trunkline");
      const { page } = watched;
      const editor = page.getByRole("listitem").filter({ hasText: "Connect an editor" }).first();
      await editor.getByText("trunkline setup zed", { exact: true }).waitFor();
      await editor.getByText("not seen yet").waitFor();
      const steps = EMPTY_OVERVIEW.steps.map((step) =>
        step.id === "editor" ? { ...step, isDone: true, says: "Zed" } : step,
      );
      server.send({
        event: "overview",
        data: { id: "overview", row: { ...EMPTY_OVERVIEW, steps } },
      });
      await editor.getByText("Zed", { exact: true }).waitFor();
      watched.expectClean();
    });

    it("is used by the keyboard", async () => {
      await using server = await SampleDashboard.start(sampleAnswers());
      await using watched = await show(server, "#/sessions", "Replace moment with Temporal");
      const { page } = watched;
      const selected = page.locator('[role=row][aria-selected="true"]');
      await page.keyboard.press("j");
      await page.keyboard.press("j");
      await page.keyboard.press("k");
      await selected.filter({ hasText: "Migrate the parser" }).waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("temporal atlas");
      await page.getByText("1 of 7").waitFor();
      await page.keyboard.press("Escape");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Replace moment with Temporal" }).waitFor();
      await page.keyboard.press("?");
      const help = page.getByRole("dialog", { name: "Keyboard help" });
      await help.getByText("Allow once").waitFor();
      await page.keyboard.press("Escape");
      await help.waitFor({ state: "detached" });
      await page.keyboard.press("3");
      await page.getByText("model cache is cold").waitFor();
      await page.keyboard.press("g");
      await page.keyboard.press("t");
      await page.getByRole("heading", { name: "Toolbox" }).waitFor();
      watched.expectClean();
    });

    it("lists ten thousand sessions, with the waiting ones first, and finds one of them", async () => {
      const all = sampleSessions(10_000);
      const sessions: Answers = {
        "GET /api/sessions": ({ query }) => {
          const from = Number(query.get("cursor") ?? 0);
          const to = from + Number(query.get("limit"));
          return { rows: all.slice(from, to), ...(to < all.length ? { next: String(to) } : {}) };
        },
      };
      await using server = await SampleDashboard.start({ ...sampleAnswers(), ...sessions });
      await using watched = await show(server, "#/sessions", "Fix flaky login test");
      const { page } = watched;
      await page.getByText("10000", { exact: true }).waitFor();
      const first = page.locator("[data-index='0']");
      assert.match(await first.innerText(), /^question/);
      assert.ok(
        (await page.getByRole("row").count()) < 80,
        "only rows in view are in the document",
      );
      // A session that begins to wait comes to the front while the list is shown.
      const row = { ...all[9_000]!, state: "waiting" as const, title: "Needs you now" };
      const waiting = { for: "permission" as const, says: "rm", since: 1 };
      server.send({ event: "session", data: { id: row.id, row: { ...row, waiting } } });
      await first.filter({ hasText: "Needs you now" }).waitFor();
      await page.getByRole("searchbox").fill("(9876)");
      await page.getByText("1 of 10000").waitFor();
      watched.expectClean();
    });

    it("scrolls a session of a hundred thousand messages with little work for each step", async (t) => {
      const count = 100_000;
      const answers: Answers = {
        "GET /api/sessions/*": () => sampleDetail(sampleSessions()[3]!, []),
        "GET /api/sessions/*/events": ({ query }) => {
          const end = Number(query.get("before") ?? count + 1);
          const from = Math.max(1, end - Number(query.get("limit")));
          const events = Array.from({ length: end - from }, (_, index) => message(from + index));
          return { session: "s-3", events, last: count };
        },
      };
      await using server = await SampleDashboard.start({ ...sampleAnswers(), ...answers });
      await using watched = await show(server, "#/sessions/s-3", `Message ${count} `);
      const { page } = watched;
      // The processor's time of the page's own thread: a busy machine makes tasks long, not costly.
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
      const used = async (): Promise<number> => {
        const { metrics } = await devtools.send("Performance.getMetrics");
        return 1000 * metrics.find(({ name }) => name === "TaskDuration")!.value;
      };
      const costs: number[] = [];
      const step = async (work: () => Promise<unknown>): Promise<void> => {
        const before = await used();
        await work();
        costs.push((await used()) - before);
      };
      const size = async (): Promise<number> => Number(await page.evaluate(SIZE));
      for (let known = await size(); known < count; known = await size()) {
        await step(() => page.evaluate(untilMoreThan(known)));
      }
      await page.evaluate(`${LIST}.scrollTo(0, 0)`);
      await page.getByText("Message 1 ", { exact: false }).first().waitFor();
      for (let at = 0; at < 20; at++) {
        await step(() => page.evaluate(jumpTo(((at * 7) % 20) / 20)));
        assert.ok((await page.getByRole("article").count()) < 120);
      }
      const sorted = costs.toSorted((a, b) => a - b);
      const [usual = 0, most = 0] = [sorted[sorted.length >> 1], sorted.at(-1)];
      t.diagnostic(`a step takes ${usual.toFixed(0)} ms, at most ${most.toFixed(0)} ms`);
      // A step is several tasks: loading, reading, drawing and measuring. A long task is 50 ms.
      assert.ok(usual < 50, `a step takes ${usual} ms of the processor`);
      assert.ok(most < 200, `a step took ${most} ms of the processor`);
      watched.expectClean();
    });
  },
);

// Runs in the browser.
const LIST = `document.querySelector("[role=feed]")`;
const SIZE = `Number(${LIST}.querySelector("[aria-setsize]").getAttribute("aria-setsize"))`;
const untilMoreThan = (known: number): string => `new Promise((resolve) => {
  ${LIST}.scrollTop = 0;
  const look = () => (${SIZE} > ${known} ? resolve() : requestAnimationFrame(look));
  look();
})`;
const jumpTo = (share: number): string => `new Promise((resolve) => {
  ${LIST}.scrollTop = ${share} * ${LIST}.scrollHeight;
  requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
})`;

function message(seq: number): LogEvent {
  const text = `Message ${seq} says **something** in a line or two, with \`code\` in it.`;
  const update = {
    sessionUpdate: "agent_message_chunk",
    messageId: `m${seq}`,
    content: { type: "text", text: seq % 7 === 0 ? `${text}\n\n- one\n- two` : text },
  };
  return {
    seq,
    at: 1_700_000_000_000 + seq,
    direction: "agent",
    message: { kind: "update", update },
  };
}

/** What axe finds that would stop somebody: serious and critical. */
async function problemsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: AxeViolation[] }> };
    };
    interface AxeViolation {
      readonly id: string;
      readonly impact: string;
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
    }
    const { violations } = await axe.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
      resultTypes: ["violations"],
    });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes
          .slice(0, 3)
          .map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
      );
  });
}

async function picture(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `dashboard-${name}.png`) });
}
