import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";

import type { Locator } from "playwright-core";

import type { LogEvent } from "../../../src/server/dashboard/session-api.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";
import { tasksOf } from "../../browser/page-tasks.ts";
import { sampleAnswers } from "../../browser/sample/sample-answers.ts";
import { type Answers, SampleDashboard } from "../../browser/sample/sample-dashboard.ts";
import { sampleDetail, sampleSessions } from "../../browser/sample/sample-sessions.ts";

describe(
  "long lists of the dashboard",
  { timeout: 600_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    it("lists ten thousand sessions, with the waiting ones first, and finds one of them", async (t) => {
      const all = sampleSessions(10_000);
      const sessions: Answers = {
        "GET /api/sessions": ({ query }) => {
          const from = Number(query.get("cursor") ?? 0);
          const to = from + Number(query.get("limit"));
          return { rows: all.slice(from, to), ...(to < all.length ? { next: String(to) } : {}) };
        },
      };
      await using server = await SampleDashboard.start({ ...sampleAnswers(), ...sessions });
      await using watched = await browser.open();
      const { page } = watched;
      await page.goto(`${server.url}/#/sessions`);
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
      const loaded = page.getByText("10000", { exact: true });
      await expectNoLongTask(t, loaded, async () => {
        for (let at = 0; at < 20; at++) await page.evaluate(jumpTo(((at * 7) % 20) / 20, GRID));
        await page.evaluate(wheel(120, GRID));
        // The dialog finds the last used folders among all of them.
        await page.keyboard.press("c");
        await page.getByRole("textbox", { name: "Prompt" }).waitFor();
        await page.keyboard.type("Fix the test");
        await page.keyboard.press("Escape");
      });
      await page.getByRole("searchbox").fill("(9876)");
      await page.getByText("1 of 10000").waitFor();
      watched.expectClean();
    });

    it("scrolls a session of a hundred thousand messages without a long task", async (t) => {
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
      const size = async (): Promise<number> => Number(await page.evaluate(SIZE));
      await expectNoLongTask(t, page.getByText(`Message ${count} `), async () => {
        // From the end to the beginning, which is loaded on the way.
        for (let known = await size(); known < count; known = await size()) {
          await page.evaluate(untilMoreThan(known));
        }
        await page.evaluate(`${LIST}.scrollTo(0, 0)`);
        await page.getByText("Message 1 ", { exact: false }).first().waitFor();
        // Jumps, as with the scroll bar; and steps, as with a wheel.
        for (let at = 0; at < 20; at++) {
          await page.evaluate(jumpTo(((at * 7) % 20) / 20));
          assert.ok((await page.getByRole("article").count()) < 120);
        }
        await page.evaluate(wheel(120));
      });
      watched.expectClean();
    });
  },
);

/** A long task, which makes a page stumble, has 50 ms. */
const LONG = 50;
const ROUNDS = 5;

/**
 * Other programs use the same caches, so that a task takes more of the processor now and then; one that
 * is long by itself is long in every round.
 */
async function expectNoLongTask(
  t: TestContext,
  shown: Locator,
  work: () => Promise<void>,
): Promise<void> {
  const seen: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await shown.page().reload();
    await shown.waitFor();
    const { costs, longTasks } = await tasksOf(shown.page(), work);
    const [most = NaN] = costs;
    const said = `${costs.length} tasks of at most ${most.toFixed(0)} ms of the processor`;
    t.diagnostic(`${said}; ${longTasks} of ${LONG} ms or more by the clock`);
    if (most < LONG) return;
    seen.push(costs.slice(0, 5).join(", "));
  }
  assert.fail(`Tasks have taken these milliseconds of the processor: ${seen.join("; ")}`);
}

// Runs in the browser.
const LIST = `document.querySelector("[role=feed]")`;
const GRID = `document.querySelector("[role=grid]")`;
const SIZE = `Number(${LIST}.querySelector("[aria-setsize]").getAttribute("aria-setsize"))`;
const untilMoreThan = (known: number): string => `new Promise((resolve) => {
  ${LIST}.scrollTop = 0;
  const look = () => (${SIZE} > ${known} ? resolve() : requestAnimationFrame(look));
  look();
})`;
const jumpTo = (share: number, list = LIST): string => `new Promise((resolve) => {
  ${list}.scrollTop = ${share} * ${list}.scrollHeight;
  requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
})`;
/** Turns of the wheel, one in each frame. */
const wheel = (turns: number, list = LIST): string => `new Promise((resolve) => {
  let left = ${turns};
  const turn = () => {
    ${list}.scrollTop += 120;
    if (--left > 0) requestAnimationFrame(turn);
    else resolve();
  };
  turn();
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
