import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { problemsOf } from "../../browser/axe.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";
import { AcpSocket } from "../../support/acp-socket.ts";
import { begin, CONFIG, folderIn, repositoryIn, said } from "../../support/dashboard-home.ts";
import { bearer, GuardedHome } from "../../support/guarded-gateway.ts";

const FENCED = "Runs **this**:\n```sh\nrm -r build\n```";
const PLAIN = "# 3 files\n*  a_b_c";

const textBlock = (text: string): object => ({ type: "content", content: { type: "text", text } });

describe(
  "work in a session on the dashboard, in Chromium",
  { timeout: 300_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    it("goes on with a turn whose process was killed, and marks it in the list", async () => {
      using home = new GuardedHome(CONFIG);
      const first = await home.serve();
      const { port } = first;
      const editor = await AcpSocket.connect(first.acp, first.owner);
      const sessionId = await begin(editor, folderIn(home));
      editor.send("session/prompt", { sessionId, prompt: said("forever") });
      await editor.until(({ messages }) =>
        messages.find(({ method }) => method === "session/update"),
      );
      first.program.child.kill("SIGKILL");
      await first.program.exit;
      await first.program[Symbol.asyncDispose]();
      editor[Symbol.dispose]();
      await using gateway = await home.serve("--port", port);
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      await page.setViewportSize({ width: 400, height: 800 });
      await page.goto(`${gateway.ready.url}/#/sessions`);
      const row = page.getByRole("row").filter({ hasText: "forever" });
      await row.getByText("interrupted", { exact: true }).waitFor();
      await row.getByRole("link").click();
      const goOn = page.getByRole("button", { name: "Go on" });
      await goOn.focus();
      assert.deepEqual(await problemsOf(page), []);

      const scopes = ["dashboard", "sessions", "admin"].flatMap((name) => ["--scope", name]);
      const token = await home.createToken("looks", ...scopes, "--observe");
      await using looking = await browser.open({ extraHTTPHeaders: bearer(token) });
      await looking.page.goto(`${gateway.ready.url}/#/sessions/${sessionId}`);
      await looking.page.getByText("interrupted", { exact: true }).waitFor();
      const controls = looking.page.getByRole("button", { name: /^(?:Go on|Send|Undo)$/ });
      assert.equal(await controls.count(), 0, "who only looks has none");
      for (const action of ["prompt", "undo", "redo"]) {
        const path = `/api/sessions/${sessionId}/${action}`;
        const { status, body } = await gateway.post({ text: "x" }, bearer(token), path);
        assert.equal(status, 403, body);
      }
      await page.keyboard.press("Enter");
      await page.getByText("Go on where you were interrupted.").waitFor();
      await goOn.waitFor({ state: "detached" });
      watched.expectClean();
    });

    it("shows Markdown in a permission, leaves plain output alone, and finds in the audit who allowed what", async () => {
      using home = new GuardedHome(CONFIG);
      const folder = folderIn(home);
      const options = [{ optionId: "x1", kind: "allow_once", name: "Allow once" }];
      const toolCall = { toolCallId: "t1", title: "`rm -r build`" };
      const ask = { toolCall: { ...toolCall, content: [FENCED, PLAIN].map(textBlock) }, options };
      writeFileSync(join(folder, "updates.json"), JSON.stringify([{ ask }]));
      await using gateway = await home.serve();
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
      const sessionId = await begin(editor, folder);
      await page.goto(`${gateway.ready.url}/#/sessions/${sessionId}`);
      editor.send("session/prompt", { sessionId, prompt: said("updates updates.json") });
      const card = page.getByRole("region", { name: "Waiting for you" });
      await card.getByText("rm -r build", { exact: true }).first().waitFor();
      assert.equal(await card.locator(".code pre").innerText(), "rm -r build");
      assert.equal(await card.locator("strong", { hasText: "this" }).count(), 1);
      assert.equal(await card.getByLabel("Output").innerText(), PLAIN);
      assert.doesNotMatch(await card.innerText(), /`/);
      const scopes = ["dashboard", "sessions", "admin"].flatMap((name) => ["--scope", name]);
      const token = await home.createToken("looks", ...scopes, "--observe");
      await using looking = await browser.open({ extraHTTPHeaders: bearer(token) });
      await looking.page.goto(`${gateway.ready.url}/#/sessions/${sessionId}`);
      const seen = looking.page.getByRole("region", { name: "Waiting for you" });
      await seen.locator(".code pre").waitFor();
      assert.equal(await seen.getByRole("button", { name: /Allow/ }).count(), 0, "it only looks");
      await page.keyboard.press("y");
      await card.waitFor({ state: "detached" });

      await page.setViewportSize({ width: 400, height: 800 });
      await page.goto(`${gateway.ready.url}/#/audit`);
      const entries = page.getByRole("row").filter({ hasText: "permission" });
      await entries.getByText("rm -r build").waitFor();
      await page.getByRole("combobox", { name: "Outcome" }).selectOption("reject");
      await page.getByText("No entry matches").waitFor();
      await page.getByRole("combobox", { name: "Outcome" }).selectOption("allow");
      await page.getByRole("textbox", { name: "What" }).fill("BUILD");
      await entries.getByText("allow_once").waitFor();
      await page.getByLabel("to", { exact: true }).fill("2020-01-01T00:00");
      await page.getByText("No entry matches").waitFor();
      assert.deepEqual(await problemsOf(page), []);
      await page.getByRole("button", { name: "Clear" }).press("Enter");
      await entries.getByText("rm -r build").waitFor();
      watched.expectClean();
    });

    it("keeps a half-written comment over a reload, another page and a change of the file", async () => {
      using home = new GuardedHome(CONFIG);
      const folder = repositoryIn(home);
      writeFileSync(join(folder, "a.txt"), "one\nTWO\nthree\n");
      await using gateway = await home.serve();
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
      const sessionId = await begin(editor, folder);
      const changes = `${gateway.ready.url}/#/sessions/${sessionId}/changes`;
      await page.goto(changes);
      await page.getByRole("button", { name: "Comment on new line 2" }).click();
      const comment = page.getByRole("textbox", { name: "Comment" });
      await comment.fill("why in capi");
      await page.reload();
      await comment.waitFor();
      assert.equal(await comment.inputValue(), "why in capi");
      await page.goto(`${gateway.ready.url}/#/audit`);
      writeFileSync(join(folder, "a.txt"), `one\ntwo\nthree\n${"more\n".repeat(20)}`);
      await page.goto(changes);
      await comment.waitFor();
      assert.equal(
        await comment.inputValue(),
        "why in capi",
        "its line is not in the diff any more",
      );
      writeFileSync(join(folder, "a.txt"), "one\ntwo\nthree\n");
      await page.reload();
      await page.getByText("Not sent, on a.txt:2: why in capi").waitFor();
      writeFileSync(join(folder, "a.txt"), "one\nTWO\nthree\n");
      await page.reload();
      await comment.fill("why in capitals?");
      await page.getByRole("button", { name: "Comment", exact: true }).click();
      await page.locator(".thread").getByText("why in capitals?").waitFor();
      await page.reload();
      await page.locator(".thread").getByText("why in capitals?").waitFor();
      assert.equal(await comment.count(), 0);
      watched.expectClean();
    });
  },
);
