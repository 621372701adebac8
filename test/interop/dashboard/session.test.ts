import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AcpSocket } from "../../support/acp-socket.ts";
import {
  begin,
  CONFIG,
  folderIn,
  repositoryIn,
  said,
  SECRET,
} from "../../support/dashboard-home.ts";
import { type GuardedGateway, GuardedHome } from "../../support/guarded-gateway.ts";
import {
  chromiumPath,
  DashboardBrowser,
  eventually,
  NO_CHROMIUM,
  type WatchedPage,
} from "../../browser/dashboard-browser.ts";

const [agent] = Object.values(CONFIG.agents);

describe(
  "one session on the dashboard, in Chromium",
  { timeout: 300_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let home: GuardedHome;
    let gateway: GuardedGateway;
    let browser: DashboardBrowser;
    let watched: WatchedPage;
    before(async () => {
      home = new GuardedHome({
        ...CONFIG,
        agents: { other: { ...agent, args: [...(agent?.args ?? []), "--options"] } },
      });
      const identity = { provider: "other", user: "Ann", email: "ann@acme.example" };
      const match = [{ path: home.path }];
      const config = JSON.parse(readFileSync(home.files.TRUNKLINE_CONFIG, "utf8")) as object;
      const identities = { acme: { ...identity, match } };
      home.write("config.jsonc", JSON.stringify({ ...config, identities }));
      gateway = await home.serve();
      browser = await DashboardBrowser.launch();
      watched = await browser.enter(gateway);
    });
    after(async () => {
      await browser[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    });

    const connect = (query = ""): Promise<AcpSocket> =>
      AcpSocket.connect(`${gateway.acp}${query}`, gateway.owner);

    async function prompt(text: string): Promise<void> {
      const box = watched.page.getByRole("textbox", { name: "Prompt" });
      await box.fill(text);
      await box.press("Enter");
    }

    const show = (sessionId: string, tab = ""): Promise<unknown> =>
      watched.page.goto(`${gateway.ready.url}/#/sessions/${sessionId}${tab}`);

    it("answers a question of the agent, whichever client prompted, and the list says what waits", async () => {
      const { page } = watched;
      using editor = await connect();
      const sessionId = await begin(editor, folderIn(home, "question"));
      await show(sessionId);
      await page.getByText("Nothing was said yet").waitFor();
      // The page has joined by now, so there is somebody who can show the question.
      const asked = editor.send("session/prompt", { sessionId, prompt: said("form") });
      const ask = page.getByRole("region", { name: "Waiting for you" });
      await ask.getByText("Which?").waitFor();
      await page.keyboard.press("u");
      const row = page.getByRole("row").filter({ hasText: "Which?" });
      await row.getByText("question", { exact: true }).waitFor();
      // Another window, which is opened only now, is asked, too.
      await using other = await browser.open({
        storageState: await page.context().storageState(),
      });
      await other.page.goto(`${gateway.ready.url}/#/sessions/${sessionId}`);
      const form = other.page.getByRole("region", { name: "Waiting for you" });
      await form.getByRole("textbox", { name: "name" }).fill("the second");
      await form.getByRole("button", { name: "Answer" }).click();
      const { result } = await editor.until(({ messages }) =>
        messages.find(({ id, method }) => id === asked && method === undefined),
      );
      assert.deepEqual(result, { stopReason: "end_turn" });
      await other.page.getByText('"content":{"name":"the second"}').waitFor();
      await form.waitFor({ state: "detached" });
      other.expectClean();
      watched.expectClean();
    });

    it("takes a prompt, streams the answer, lists commands, stops, and draws no HTML of the agent", async () => {
      const { page } = watched;
      using editor = await connect();
      await show(await begin(editor, folderIn(home, "prompt")));
      await prompt("stream 400");
      await page.getByText(/ 397 398 399 *$/).waitFor();
      await prompt("say **bold** <b>not</b> [x](javascript:alert(1))");
      const last = page.getByRole("article").last();
      await last.locator("strong", { hasText: "bold" }).waitFor();
      assert.equal(await last.innerText(), "bold <b>not</b> [x](javascript:alert(1))");
      await prompt("forever");
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("Turn ended: cancelled").waitFor();
      // What is written while a turn runs waits for its end, and the page shows no error.
      await prompt("permission");
      const ask = page.getByRole("region", { name: "Waiting for you" });
      await ask.waitFor();
      await prompt("say afterwards");
      await ask.getByRole("button", { name: "Reject" }).click();
      await page.getByRole("article").last().getByText("afterwards", { exact: true }).waitFor();
      watched.expectClean();
    });

    it("chooses an option of the agent, and shows one that an editor chooses", async () => {
      const { page } = watched;
      using editor = await connect();
      const sessionId = await begin(editor, folderIn(home, "option"));
      await show(sessionId);
      const effort = page.getByRole("combobox", { name: "Effort" });
      assert.equal(await effort.inputValue(), "low");
      await effort.selectOption("high effort");
      await prompt("effort");
      await page.getByText("effort is high").waitFor();
      const choice = { sessionId, configId: "effort", value: "low" };
      await editor.ask("session/set_config_option", choice);
      await eventually(async () => (await effort.inputValue()) === "low");
      const mode = page.getByRole("combobox", { name: "Mode" });
      await mode.selectOption("Ask");
      await prompt("mode");
      await page.getByRole("article").last().getByText("ask", { exact: true }).waitFor();
      await page.reload();
      await eventually(async () => (await mode.inputValue()) === "ask");
      watched.expectClean();
    });

    it("marks a session as unread until it is looked at, and names its identity", async () => {
      const { page } = watched;
      using editor = await connect();
      const sessionId = await begin(editor, repositoryIn(home, "unread"));
      await page.goto(`${gateway.ready.url}/#/sessions`);
      await editor.ask("session/prompt", { sessionId, prompt: said("say news") });
      const row = page.getByRole("row").filter({ hasText: "say news" });
      const mark = row.getByRole("img", { name: "Unread" });
      await mark.waitFor();
      await row.getByText("main as acme").waitFor();
      await row.getByRole("link").click();
      await page.getByText("news", { exact: true }).waitFor();
      await page.getByText("acme", { exact: true }).waitFor();
      await page.keyboard.press("u");
      await row.waitFor();
      await mark.waitFor({ state: "detached" });
      await editor.ask("session/prompt", { sessionId, prompt: said("say more") });
      await mark.waitFor();
      watched.expectClean();
    });

    it("says of a link to a session that is gone that it is, and stays live", async () => {
      await using other = await browser.open({
        storageState: await watched.page.context().storageState(),
      });
      const { page } = other;
      const asked: string[] = [];
      page.on("request", (request) => asked.push(request.url()));
      await page.goto(`${gateway.ready.url}/#/sessions/gone`);
      await page.getByText("There is no session 'gone'.").waitFor();
      await page.getByRole("link", { name: "All sessions" }).click();
      await page.getByRole("heading", { name: "Sessions" }).waitFor();
      await page.getByText("live", { exact: true }).waitFor();
      assert.deepEqual(
        asked.filter((url) => url.includes("/api/events?session=gone")),
        [],
      );
      other.expectClean(/404/);
    });

    it("undoes what the built-in agent changed, and the changes follow", async () => {
      const { page } = watched;
      const folder = repositoryIn(home, "undo");
      using editor = await connect("?agent=trunkline");
      const sessionId = await begin(editor, folder);
      await show(sessionId);
      const box = page.getByRole("textbox", { name: "Prompt" });
      await box.fill("/ini");
      await page.getByRole("button", { name: "/init" }).click();
      await box.press("Enter");
      const ask = page.getByRole("region", { name: "Waiting for you" });
      await ask.getByRole("button", { name: /Allow/ }).first().click();
      await ask.waitFor({ state: "detached" });
      await page.getByText("idle", { exact: true }).waitFor();
      await page.getByRole("tab", { name: "Changes" }).click();
      const file = page.locator(".file").filter({ hasText: "AGENTS.md" });
      await file.getByRole("button", { name: "Comment on new line 1", exact: true }).waitFor();
      assert.notEqual(readFileSync(join(folder, "AGENTS.md"), "utf8"), "");
      const dialog = page.getByRole("dialog", { name: "Undo" });
      const open = page.getByRole("button", { name: "Undo" });
      await open.click();
      await dialog.getByText("AGENTS.md").waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      assert.notEqual(readFileSync(join(folder, "AGENTS.md"), "utf8"), "", "it has asked first");
      await open.click();
      await dialog.getByRole("button", { name: "Restore these files" }).click();
      await page.getByText("Nothing is changed").waitFor();
      assert.throws(() => readFileSync(join(folder, "AGENTS.md")), /ENOENT/);
      await page.getByText("idle", { exact: true }).waitFor();
      await open.click();
      await dialog.getByRole("button", { name: "Redo" }).click();
      await file.waitFor();
      assert.notEqual(readFileSync(join(folder, "AGENTS.md"), "utf8"), "", "it is undone");
      watched.expectClean();
    });

    it("exports a session as lines of JSON and as a page that needs nothing else, without secrets", async () => {
      const { page } = watched;
      using editor = await connect();
      const sessionId = await begin(editor, folderIn(home, "export"));
      const words = `say <script>alert(1)</script> ${SECRET}`;
      await editor.ask("session/prompt", { sessionId, prompt: said(words) });
      await show(sessionId);
      await page.getByText("alert(1)").first().waitFor();
      const save = async (name: string): Promise<string> => {
        const menu = page.locator("summary").filter({ hasText: "Export" });
        await menu.click();
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.getByRole("link", { name }).click(),
        ]);
        await menu.click();
        return download.path();
      };
      const lines = readFileSync(await save("NDJSON"), "utf8")
        .trim()
        .split("\n");
      const events = lines.map((line) => JSON.parse(line) as { seq: number });
      assert.deepEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => index + 1),
      );
      const html = readFileSync(await save("HTML page"), "utf8");
      for (const text of [lines.join("\n"), html]) assert.equal(text.includes(SECRET), false);
      await using saved = await browser.open({ offline: true });
      await saved.page.setContent(html);
      await saved.page.getByText("<script>alert(1)</script>").first().waitFor();
      assert.equal(await saved.page.locator("script, link, img, iframe").count(), 0);
      saved.expectClean();
      watched.expectClean();
    });

    it("shows the traffic: pairs with latency, folded chunks, filters, raw and pretty, copies, stderr", async () => {
      const { page } = watched;
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      using editor = await connect();
      const sessionId = await begin(editor, folderIn(home, "traffic"));
      await show(sessionId, "/traffic");
      await editor.ask("session/prompt", { sessionId, prompt: said("stream 50") });
      await editor.ask("session/prompt", { sessionId, prompt: said("grumble cold cache") });
      await editor.ask("session/prompt", { sessionId, prompt: said(`say ${SECRET}`) });
      const table = page.getByRole("grid", { name: "Traffic" });
      const rowOf = (...texts: string[]) =>
        texts.reduce((rows, hasText) => rows.filter({ hasText }), table.getByRole("row"));
      await rowOf("cold cache", "stderr").first().waitFor();
      await rowOf("agent_message_chunk", "×").first().waitFor();
      const response = rowOf("response", "session/prompt").first();
      await response.getByText(/\d (?:ms|s)/).waitFor();
      await response.click();
      const message = page.getByLabel("Message", { exact: true });
      await message.getByText('"stopReason": "end_turn"').waitFor();
      await page.getByRole("button", { name: "Raw" }).click();
      await message.getByText('"stopReason":"end_turn"').waitFor();
      await page.getByRole("button", { name: "Its request" }).click();
      await message.getByText('"method":"session/prompt"').waitFor();
      await page.getByRole("button", { name: "Copy message" }).click();
      await eventually(async () =>
        String(await page.evaluate("navigator.clipboard.readText()")).includes('"session/prompt"'),
      );
      await response.click();
      const lanes = page.getByRole("group", { name: "Lanes" });
      for (const lane of ["client", "agent"]) await lanes.getByText(lane, { exact: true }).click();
      await rowOf("session/prompt").first().waitFor({ state: "detached" });
      await rowOf("cold cache").first().waitFor();
      for (const lane of ["client", "agent"]) await lanes.getByText(lane, { exact: true }).click();
      await page.getByRole("searchbox", { name: "Filter traffic" }).fill("request session/prompt");
      await rowOf("session/prompt").first().waitFor();
      await rowOf("cold cache").first().waitFor({ state: "detached" });
      assert.equal((await page.content()).includes(SECRET), false, "secrets are masked");
      watched.expectClean();
    });
  },
);
