import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AcpSocket } from "../support/acp-socket.ts";
import {
  chromiumPath,
  DashboardBrowser,
  NO_CHROMIUM,
  type WatchedPage,
} from "./dashboard-browser.ts";
import { type GuardedGateway, GuardedHome } from "../support/guarded-gateway.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const CONFIG = {
  agent: "other",
  agents: { other: { command: process.execPath, args: [AGENT, "--loads"] } },
};

const said = (text: string): object => [{ type: "text", text }];

/** A repository with one commit. */
function repositoryIn(home: GuardedHome): string {
  const folder = join(home.path, "work");
  mkdirSync(folder);
  writeFileSync(join(folder, "a.txt"), "one\ntwo\nthree\n");
  const git = (...args: string[]): void => {
    const who = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
    execFileSync("git", [...who, ...args], { cwd: folder, stdio: "ignore" });
  };
  git("init", "-b", "main");
  git("add", ".");
  git("commit", "-m", "first");
  return folder;
}

async function begin(editor: AcpSocket, cwd: string): Promise<string> {
  const { sessionId } = await editor.ask("session/new", { cwd, mcpServers: [] });
  return String(sessionId);
}

describe(
  "the dashboard in Chromium",
  { timeout: 240_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    /** Opens the page as a person does: by the link that works once. */
    async function enter(gateway: GuardedGateway): Promise<WatchedPage> {
      const watched = await browser.open();
      await watched.page.goto(gateway.ready.login);
      await watched.page.getByRole("status").filter({ hasText: "live" }).waitFor();
      return watched;
    }

    it("shows a session as it happens, and answers its permission while the editor waits", async () => {
      using home = new GuardedHome(CONFIG);
      await using gateway = await home.serve();
      await using watched = await enter(gateway);
      const { page } = watched;
      using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
      const sessionId = await begin(editor, repositoryIn(home));
      await page.keyboard.press("g");
      await page.keyboard.press("s");
      const asked = editor.send("session/prompt", { sessionId, prompt: said("permission") });
      const row = page.getByRole("row").filter({ hasText: "permission" });
      await row.waitFor();
      await page.waitForFunction(`document.title.startsWith("(1) ")`);
      await row.getByRole("link").click();
      const ask = page.getByRole("region", { name: "Waiting for you" });
      await ask.getByText("Run npm install").waitFor();
      await page.keyboard.press("y");
      const answer = await editor.until(({ messages }) => messages.find(({ id }) => id === asked));
      assert.deepEqual(answer.result, { stopReason: "end_turn" });
      await page.getByText("Allowed by dashboard: Run npm install").waitFor();
      await ask.waitFor({ state: "detached" });

      const prompt = page.getByRole("textbox", { name: "Prompt" });
      await prompt.fill("stream 400");
      await prompt.press("Enter");
      await page.getByText(/ 397 398 399 *$/).waitFor();
      await prompt.fill("say **bold** <b>not</b> [x](javascript:alert(1))");
      await prompt.press("Enter");
      const last = page.getByRole("article").last();
      await last.locator("strong", { hasText: "bold" }).waitFor();
      assert.equal(await last.innerText(), "bold <b>not</b> [x](javascript:alert(1))");
      await prompt.fill("forever");
      await prompt.press("Enter");
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("Turn ended: cancelled").waitFor();
      watched.expectClean();
    });

    it("takes a comment on a changed line to the agent", async () => {
      using home = new GuardedHome(CONFIG);
      const folder = repositoryIn(home);
      await using gateway = await home.serve();
      await using watched = await enter(gateway);
      const { page } = watched;
      using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
      const sessionId = await begin(editor, folder);
      await editor.ask("session/prompt", { sessionId, prompt: said("put a.txt|other|0") });
      await page.goto(`${gateway.ready.url}/#/sessions/${sessionId}/changes`);
      await page.getByRole("button", { name: "Comment on new line 1" }).click();
      const form = page.getByRole("form", { name: "Comment on line 1" });
      await form.getByRole("textbox").fill("Say why it is other.");
      await form.getByRole("button", { name: "Comment" }).click();
      await page.locator(".thread").getByText("Say why it is other.").waitFor();
      const headers = { ...gateway.owner, ...(await gateway.begin(gateway.owner)) };
      const call = {
        name: "review_wait",
        arguments: { repository: folder, timeoutSeconds: 20 },
      };
      const told = await gateway.post(
        { jsonrpc: "2.0", id: 7, method: "tools/call", params: call },
        headers,
      );
      assert.match(told.body, /a\.txt/);
      assert.match(told.body, /Say why it is other\./);
      watched.expectClean();
    });

    it("comes back by itself after the server was restarted, and shows what happened since", async () => {
      using home = new GuardedHome(CONFIG);
      const folder = repositoryIn(home);
      let sessionId = "";
      let port = "";
      let watched: WatchedPage;
      {
        await using gateway = await home.serve();
        ({ port } = gateway);
        // With the owner's token, since this is about the stream and not about the login.
        watched = await browser.open({ extraHTTPHeaders: gateway.owner });
        using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
        sessionId = await begin(editor, folder);
        await editor.ask("session/prompt", { sessionId, prompt: said("say before") });
        await watched.page.goto(`${gateway.ready.url}/#/sessions/${sessionId}`);
        await watched.page.getByText("before", { exact: true }).waitFor();
      }
      await using page = watched;
      await page.page.getByText("The connection to Trunkline is lost").waitFor();
      await using gateway = await home.serve("--port", port);
      using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
      await editor.ask("session/load", { sessionId, cwd: folder, mcpServers: [] });
      await editor.ask("session/prompt", { sessionId, prompt: said("say after") });
      await page.page.getByText("after", { exact: true }).waitFor();
      await page.page.getByRole("status").filter({ hasText: "live" }).waitFor();
      assert.equal(await page.page.getByText("before", { exact: true }).count(), 1);
      // The browser itself says that there was no server.
      page.expectClean(/net::ERR_/);
    });
  },
);
