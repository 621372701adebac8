import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { AcpSocket } from "../support/acp-socket.ts";
import { begin, CONFIG, repositoryIn, said } from "../support/dashboard-home.ts";
import { GuardedHome } from "../support/guarded-gateway.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "./dashboard-browser.ts";

// One way through the page with the real program; everything else is in test/interop/dashboard.

describe(
  "the dashboard in Chromium",
  { timeout: 240_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    it("shows a session live, answers its permission, and takes a comment on its changes to the agent", async () => {
      using home = new GuardedHome(CONFIG);
      const folder = repositoryIn(home);
      await using gateway = await home.serve();
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      // Where `trunkline` is not in PATH, its name would not work.
      const { program } = JSON.parse((await gateway.get("/api/me", gateway.owner)).body);
      await page.getByText(`${program} setup claude-code`, { exact: true }).waitFor();
      using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
      const sessionId = await begin(editor, folder);
      await page.keyboard.press("g");
      await page.keyboard.press("s");
      const asked = editor.send("session/prompt", { sessionId, prompt: said("permission") });
      const row = page.getByRole("row").filter({ hasText: "permission" });
      await row.waitFor();
      // waitForFunction() evaluates text in the page, which our policy forbids.
      while (!(await page.title()).startsWith("(1) "));
      await row.getByRole("link").click();
      const ask = page.getByRole("region", { name: "Waiting for you" });
      await ask.getByText("Run npm install").waitFor();
      await page.keyboard.press("y");
      const answer = await editor.until(({ messages }) => messages.find(({ id }) => id === asked));
      assert.deepEqual(answer.result, { stopReason: "end_turn" });
      await page.getByText("Allowed by dashboard: Run npm install").waitFor();
      await ask.waitFor({ state: "detached" });

      const prompt = page.getByRole("textbox", { name: "Prompt" });
      await prompt.fill("put a.txt|other|0");
      await prompt.press("Enter");
      await page.getByText("Write a.txt").waitFor();
      await page.getByRole("tab", { name: "Changes" }).click();
      await page.getByRole("button", { name: "Comment on new line 1" }).click();
      const form = page.getByRole("form", { name: "Comment on line 1" });
      await form.getByRole("textbox").fill("Say why it is other.");
      await form.getByRole("button", { name: "Comment" }).click();
      await page.locator(".thread").getByText("Say why it is other.").waitFor();
      // Who wrote the line, and what it replaced, by a press on its text, and once more to close it.
      const line = page.getByRole("region", { name: "Diff of a.txt" }).getByText("other");
      const why = page.getByRole("note", { name: "Who wrote it" });
      await line.first().click();
      await why.getByText("put a.txt|other|0").waitFor();
      const text = await why.innerText();
      assert.match(text, new RegExp(`session\\s+${sessionId}`));
      assert.match(text, /committed\s+not yet\s+certain\s+yes/);
      assert.equal(await why.getByRole("link").getAttribute("href"), `#/sessions/${sessionId}`);
      await line.first().press("Enter");
      await why.waitFor({ state: "detached" });
      const headers = { ...gateway.owner, ...(await gateway.begin(gateway.owner)) };
      const call = { name: "review_wait", arguments: { repository: folder, timeoutSeconds: 20 } };
      const told = await gateway.post(
        { jsonrpc: "2.0", id: 7, method: "tools/call", params: call },
        headers,
      );
      assert.match(told.body, /a\.txt/);
      assert.match(told.body, /Say why it is other\./);
      await page.keyboard.press("g");
      await page.keyboard.press("v");
      await page.getByRole("row").filter({ hasText: "Say why it is other." }).click();
      await page.getByRole("button", { name: "Who wrote it?" }).click();
      await why.getByText("put a.txt|other|0").waitFor();
      watched.expectClean();
    });
  },
);
