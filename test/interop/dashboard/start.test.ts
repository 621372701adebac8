import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { problemsOf } from "../../browser/axe.ts";
import {
  chromiumPath,
  DashboardBrowser,
  eventually,
  NO_CHROMIUM,
} from "../../browser/dashboard-browser.ts";
import { CONFIG, folderIn, pageOf, repositoryIn } from "../../support/dashboard-home.ts";
import { bearer, type GuardedGateway, GuardedHome } from "../../support/guarded-gateway.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe(
  "beginning a session on the dashboard, in Chromium",
  { timeout: 300_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let home: GuardedHome;
    let gateway: GuardedGateway;
    let browser: DashboardBrowser;
    before(async () => {
      const { other } = CONFIG.agents;
      const args = [...other.args, "--images"];
      home = new GuardedHome({ ...CONFIG, agents: { other: { ...other, args } } });
      gateway = await home.serve();
      browser = await DashboardBrowser.launch();
    });
    after(async () => {
      await browser[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    });

    it("goes from one key to the first answer by the keyboard alone, and keeps what was typed", async () => {
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      const folder = repositoryIn(home, "keys");
      await page.keyboard.press("g");
      await page.keyboard.press("a");
      await page.getByRole("heading", { name: "Audit" }).waitFor();
      await page.keyboard.press("c");
      const dialog = page.getByRole("dialog", { name: "New session" });
      const field = dialog.getByRole("textbox", { name: "Folder" });
      await field.waitFor();
      assert.deepEqual(await problemsOf(page), []);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await page.keyboard.press("c");
      await page.keyboard.type(join(folder, "none"));
      const prompt = dialog.getByRole("textbox", { name: "Prompt" });
      while (!(await prompt.evaluate((element) => element.matches(":focus")))) {
        await page.keyboard.press("Tab");
      }
      await page.keyboard.type("say hello c ?");
      await page.keyboard.press("Enter");
      await dialog.getByRole("alert").getByText("There is no folder").waitFor();
      // The server answers in words, and the browser tells of the status.
      await page.reload();
      await dialog.waitFor();
      assert.equal(await prompt.inputValue(), "say hello c ?");
      await field.fill(folder);
      await prompt.fill("say see @a");
      await dialog.getByRole("button", { name: "@a.txt" }).waitFor();
      await prompt.press("Tab");
      assert.equal(await prompt.inputValue(), "say see @a.txt ");
      await prompt.press("Enter");
      await page.getByRole("article").last().getByText("see @a.txt").waitFor();
      await dialog.waitFor({ state: "detached" });
      assert.match(page.url(), /#\/sessions\/[0-9a-f-]{36}$/);
      // The next time, its folder is the first that is offered.
      await page.getByRole("link", { name: "All sessions" }).click();
      await page.evaluate("sessionStorage.clear()");
      await page.reload();
      await page.getByRole("button", { name: "New session" }).click();
      await eventually(async () => (await field.inputValue()) === folder);
      await field.fill(home.path);
      await dialog.getByRole("button", { name: "Browse" }).click();
      const recent = dialog.getByRole("list", { name: "Recent folders" });
      await recent.getByRole("button", { name: folder }).click();
      assert.equal(await field.inputValue(), folder);
      watched.expectClean(/status of 404/);
    });

    it("is done on a phone too: picks a folder, a mode, a work tree and an image", async () => {
      const above = folderIn(home, "above");
      const folder = repositoryIn(home, "above/phone");
      await using watched = await browser.open({
        ...{ viewport: { width: 400, height: 800 }, hasTouch: true },
        extraHTTPHeaders: { authorization: gateway.owner.authorization },
      });
      const { page } = watched;
      await page.goto(`${gateway.ready.url}/#/sessions`);
      // The agent was started before, so that its modes are known.
      await page.getByRole("button", { name: "New session" }).tap();
      const dialog = page.getByRole("dialog", { name: "New session" });
      await dialog.getByRole("textbox", { name: "Folder" }).fill(above);
      await dialog.getByRole("button", { name: "Browse" }).tap();
      await dialog.getByRole("button", { name: "phone git" }).tap();
      await dialog.getByText("There is no folder in this one.").waitFor();
      await dialog.getByRole("combobox", { name: "Mode" }).selectOption("Ask");
      await dialog.getByRole("checkbox", { name: "Work tree of its own" }).check();
      await dialog.getByRole("textbox", { name: "Branch" }).fill("from-phone");
      const file = {
        name: "shot.png",
        mimeType: "image/png",
        buffer: Buffer.from(PIXEL, "base64"),
      };
      await dialog.getByLabel("Add images").setInputFiles(file);
      await dialog.getByRole("button", { name: "Remove shot.png" }).waitFor();
      await dialog.getByLabel("Add images").setInputFiles({ ...file, mimeType: "image/svg+xml" });
      await dialog.getByRole("alert").getByText("is not a PNG").waitFor();
      assert.deepEqual(await problemsOf(page), []);
      const width = Number(await page.evaluate("document.documentElement.scrollWidth"));
      assert.ok(width <= 400, `the dialog is ${width} px wide`);
      await dialog.getByRole("textbox", { name: "Prompt" }).fill("kinds");
      await dialog.getByRole("button", { name: "Start" }).tap();
      await page.getByRole("article").last().getByText("text image", { exact: true }).waitFor();
      using api = pageOf(gateway);
      const [id = ""] = /[^/]+$/.exec(page.url()) ?? [];
      const { row } = await api.get(`/api/sessions/${id}`);
      assert.deepEqual([row.cwd, row.mode], [folder, "ask"]);
      watched.expectClean();
    });

    it("is not offered to a token that only observes, nor to one without sessions", async () => {
      const scopes = ["--scope", "dashboard", "--scope", "sessions"];
      for (const token of [
        await home.createToken("watcher", ...scopes, "--observe"),
        await home.createToken("looker", "--scope", "dashboard"),
      ]) {
        await using watched = await browser.open({ extraHTTPHeaders: bearer(token) });
        const { page } = watched;
        for (const name of ["Start", "Sessions", "Remote runs"]) {
          await page.goto(gateway.ready.url);
          await page.getByRole("link", { name }).click();
          await page.getByRole("heading", { level: 1 }).waitFor();
          assert.equal(await page.getByRole("button", { name: /New/ }).count(), 0, name);
          await page.keyboard.press("c");
          await page.keyboard.press("?");
          await page.getByRole("dialog", { name: "Keyboard help" }).waitFor();
          assert.equal(await page.getByRole("dialog").count(), 1, name);
        }
        watched.expectClean(/status of 403/);
      }
    });
  },
);
