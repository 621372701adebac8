import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { LogEvent } from "../../src/gateway/dashboard/session-api.ts";
import { problemsOf } from "../browser/axe.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../browser/dashboard-browser.ts";
import { sampleAnswers } from "../browser/sample/sample-answers.ts";
import { type Answers, SampleDashboard } from "../browser/sample/sample-dashboard.ts";
import { PAGES } from "../browser/sample/sample-pages.ts";
import { sampleDetail, sampleSessions } from "../browser/sample/sample-sessions.ts";

// What takes axe and a long session many seconds; the rest is in test/browser.

describe(
  "the pages of the dashboard, for long",
  { timeout: 600_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    it("has no serious accessibility problem on any page, light and dark", async () => {
      await using server = await SampleDashboard.start(sampleAnswers());
      for (const colorScheme of ["light", "dark"] as const) {
        await using watched = await browser.open({ colorScheme });
        const { page } = watched;
        await page.goto(server.url);
        for (const [name, hash, text] of PAGES) {
          await page.evaluate(`location.assign(${JSON.stringify(hash)})`);
          await page.getByText(text).first().waitFor();
          assert.deepEqual(await problemsOf(page), [], `${name}, ${colorScheme}`);
        }
        watched.expectClean();
      }
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
      await using watched = await browser.open();
      const { page } = watched;
      await page.goto(`${server.url}/#/sessions/s-3`);
      await page.getByText(`Message ${count} `).waitFor();
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
      // A step is several tasks: loading, reading, drawing and measuring. A long task has 50 ms; a step
      // takes 30 ms on an idle machine, and more where others use the caches of its processors.
      assert.ok(usual < 100, `a step takes ${usual} ms of the processor`);
      assert.ok(most < 300, `a step took ${most} ms of the processor`);
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
