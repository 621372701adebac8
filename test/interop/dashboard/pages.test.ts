import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import type { Page } from "playwright-core";

import { problemsOf } from "../../browser/axe.ts";
import {
  chromiumPath,
  DashboardBrowser,
  NO_CHROMIUM,
  type WatchedPage,
} from "../../browser/dashboard-browser.ts";
import { sampleAnswers } from "../../browser/sample/sample-answers.ts";
import { type Answers, SampleDashboard } from "../../browser/sample/sample-dashboard.ts";
import { PAGES } from "../../browser/sample/sample-pages.ts";
import { EMPTY_OVERVIEW } from "../../browser/sample/sample-rows.ts";
import { sampleSessions } from "../../browser/sample/sample-sessions.ts";

/** `TRUNKLINE_SCREENSHOTS=docs/images npm run test:interop -- dashboard/pages` writes the pictures of the documents. */
const SCREENSHOTS = process.env["TRUNKLINE_SCREENSHOTS"];

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

    it("shows every page, light and dark: no error, no serious problem for axe, no sideways scrolling at 400 px", async () => {
      await using server = await SampleDashboard.start(sampleAnswers());
      for (const colorScheme of ["light", "dark"] as const) {
        await using watched = await browser.open({ colorScheme });
        const { page } = watched;
        await page.goto(server.url);
        for (const [name, hash, text] of PAGES) {
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

    it("has a dialog that begins things, light and dark, wide and narrow", async () => {
      await using server = await SampleDashboard.start(sampleAnswers());
      for (const colorScheme of ["light", "dark"] as const) {
        await using watched = await browser.open({ colorScheme });
        const { page } = watched;
        await page.goto(`${server.url}/#/sessions`);
        await page.getByText("Replace moment with Temporal").first().waitFor();
        await page.keyboard.press("c");
        const dialog = page.getByRole("dialog", { name: "New session" });
        await dialog.getByRole("combobox", { name: "Model" }).selectOption("Sonnet");
        await dialog.getByRole("checkbox", { name: "Work tree of its own" }).check();
        await dialog
          .getByRole("textbox", { name: "Prompt" })
          .fill("Retry only what failed, see @re");
        await dialog.getByRole("button", { name: "@src/net/retry.ts" }).waitFor();
        if (colorScheme === "light") await picture(page, "new-session");
        await dialog.getByRole("button", { name: "Browse" }).click();
        await dialog.getByRole("button", { name: "atlas git" }).waitFor();
        for (const what of ["Session in a folder", "Remote run on a repository"]) {
          await page.getByRole("radio", { name: what }).check();
          for (const width of [1280, 400]) {
            await page.setViewportSize({ width, height: 800 });
            assert.deepEqual(await problemsOf(page), [], `${what}, ${colorScheme}, ${width} px`);
            const wide = Number(await page.evaluate("document.documentElement.scrollWidth"));
            assert.ok(wide <= width, `${what} is ${wide} px wide`);
          }
        }
        watched.expectClean();
      }
    });

    it("shows on a phone no separator before a branch that is not there, and the state as a small badge", async () => {
      const detached = sampleSessions().map((row) => ({
        ...row,
        branch: undefined,
        identity: undefined,
      }));
      const rows = { "GET /api/sessions": () => ({ rows: detached }) } satisfies Answers;
      await using server = await SampleDashboard.start({ ...sampleAnswers(), ...rows });
      await using watched = await browser.open({ viewport: { width: 390, height: 844 } });
      const { page } = watched;
      await page.goto(`${server.url}/#/sessions`);
      await page.locator("[data-label='Repository'] .sub").first().waitFor({ state: "attached" });
      assert.equal(await page.locator("[data-label='Repository'] .sub:not(:empty)").count(), 0);
      await page.getByRole("row").filter({ hasText: "idle" }).getByRole("link").first().click();
      const badge = page.locator(".session-head .badge");
      const actions = page.locator(".session-head .actions");
      const width = async (part: typeof badge): Promise<number> =>
        (await part.boundingBox())?.width ?? assert.fail("it is not there");
      assert.ok((await width(badge)) < (await width(actions)), "it is as wide as its text");
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
  },
);

async function picture(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `dashboard-${name}.png`) });
}
