import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { probeSandbox } from "../../../src/sandbox/probe.ts";
import { WITHOUT_SSHD } from "../../support/git-rig/ssh-server.ts";
import { promptOf } from "../../support/acp-socket.ts";
import { openingOf, RunRig } from "../../support/remote-run/run-rig.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";

const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

const COST = JSON.stringify({
  jsonrpc: "2.0",
  method: "session/update",
  params: {
    sessionId: "SESSION",
    update: {
      sessionUpdate: "usage_update",
      ...{ used: 1_000, size: 100_000 },
      cost: { amount: 1.25, currency: "USD" },
    },
  },
});

describe(
  "remote runs on the dashboard, in Chromium",
  {
    timeout: 600_000,
    skip: WITHOUT_SSHD || noSandbox || (chromiumPath() === undefined && NO_CHROMIUM),
  },
  () => {
    let run: RunRig;
    let browser: DashboardBrowser;
    before(async () => {
      run = await RunRig.start({ config: { remote: { turns: { running: 1, runningEach: 1 } } } });
      browser = await DashboardBrowser.launch();
    });
    after(async () => {
      await browser[Symbol.asyncDispose]();
      await run[Symbol.asyncDispose]();
    });

    it("shows the queue, the stage, the branch, the revision, the log, the cost and the diff", async () => {
      const { acp, authorization } = await run.address();
      await using watched = await browser.open({
        extraHTTPHeaders: { authorization: `Bearer ${authorization.trim()}` },
      });
      const { page } = watched;
      await page.goto(`${acp.replace("ws", "http").replace("/acp", "")}/#/runs`);
      const project = run.project("shown");
      using ide = await run.connect();
      const begin = async (): Promise<string> =>
        String((await ide.ask("session/new", openingOf(project))).sessionId);
      const first = await begin();
      // It holds the only place until it is answered.
      const asked = ide.send("session/prompt", promptOf(first, "permission"));
      const row = page.getByRole("row").filter({ hasText: "permission" });
      await row.getByText("waiting", { exact: true }).waitFor();
      const second = await begin();
      const queued = ide.send("session/prompt", promptOf(second, "put b.txt|from the run|0"));
      const next = page.getByRole("row").filter({ hasText: "put b.txt" });
      await next.getByText("queued 1", { exact: true }).waitFor();
      const { id } = await ide.until(({ messages }) =>
        messages.find(({ method }) => method === "session/request_permission"),
      );
      const result = { outcome: { outcome: "selected", optionId: "once" } };
      ide.socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
      for (const each of [asked, queued]) {
        await ide.until(({ messages }) =>
          messages.find((message) => message.id === each && message.method === undefined),
        );
      }
      await next.getByText("pushed", { exact: true }).waitFor();
      await ide.ask("session/prompt", promptOf(second, `raw ${COST}`));
      await next.getByText("$1.25").waitFor();
      await next.getByText(`main ${project.revision.slice(0, 8)}`).waitFor();
      await next.getByRole("link").click();
      await page
        .getByText(/ Pushed agent\//)
        .first()
        .waitFor();
      await page.getByText("$1.25").waitFor();
      await page.getByRole("heading", { name: "Changes against main" }).waitFor();
      const file = page.locator(".file").filter({ hasText: "b.txt" });
      await file.getByText("from the run").waitFor();
      await file.getByText("+1").waitFor();
      const line = await page.locator(".command code").innerText();
      const [, url, branch = ""] = /^git fetch (\S+) (agent\/\S+)$/.exec(line) ?? [];
      assert.equal(url, project.url);
      await run.fetch(project, branch);
      assert.match(project.git("show", "FETCH_HEAD:b.txt"), /from the run/);
      watched.expectClean();
    });

    it("begins one on a phone's width, by the keyboard, as `trunkline run` does, and shows its progress", async () => {
      const { acp, authorization } = await run.address();
      await using watched = await browser.open({
        extraHTTPHeaders: { authorization: `Bearer ${authorization.trim()}` },
        viewport: { width: 400, height: 800 },
      });
      const { page } = watched;
      await page.goto(`${acp.replace("ws", "http").replace("/acp", "")}/#/servers`);
      const project = run.project("begun");
      await page.getByRole("button", { name: /^New/ }).press("Enter");
      await page.getByRole("radio", { name: "Remote run on a repository" }).press("Space");
      const dialog = page.getByRole("dialog", { name: "New remote run" });
      await dialog.getByRole("textbox", { name: "Repository" }).fill(project.url);
      const revision = dialog.getByRole("textbox", { name: "Revision" });
      await revision.fill("nowhere");
      await dialog.getByRole("textbox", { name: "Prompt" }).fill("put begun.txt|from the phone|0");
      await dialog.getByRole("button", { name: "Start" }).press("Enter");
      await dialog.getByRole("alert").getByText("no branch or tag 'nowhere'").waitFor();
      await revision.fill("main");
      await dialog.getByRole("button", { name: "Start" }).press("Enter");
      await page.getByRole("heading", { name: "Changes against main" }).waitFor();
      await page.getByText("pushed", { exact: true }).waitFor();
      await page.locator(".file").filter({ hasText: "begun.txt" }).waitFor();
      const width = Number(await page.evaluate("document.documentElement.scrollWidth"));
      assert.ok(width <= 400, `the run's page is ${width} px wide`);
      // A folder with a clone stands for its address, at the commit that is checked out there.
      await page.getByRole("button", { name: /^New/ }).press("Enter");
      await dialog.getByRole("textbox", { name: "Repository" }).fill(project.clone);
      await revision.fill("");
      const prompt = dialog.getByRole("textbox", { name: "Prompt" });
      assert.equal(await prompt.inputValue(), "", "what was begun is written no more");
      await prompt.fill("say nothing to do");
      await prompt.press("Enter");
      await page.getByRole("heading", { name: "say nothing to do" }).waitFor();
      // The server answers in words, and the browser tells of the status.
      watched.expectClean(/status of 404/);
    });
  },
);
