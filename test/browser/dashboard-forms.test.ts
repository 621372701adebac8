// Long: a browser and the programs that its forms start.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import type { Locator, Page } from "playwright-core";

import { AcpSocket } from "../support/acp-socket.ts";
import { begin, CONFIG, repositoryIn, said } from "../support/dashboard-home.ts";
import { bearer, GuardedHome } from "../support/guarded-gateway.ts";
import { problemsOf } from "./axe.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "./dashboard-browser.ts";

const NOTES = join(import.meta.dirname, "../support/notes-server.mjs");
const SECRET = "kept-and-never-shown";

/** What the browser says beside a field. */
const messageOf = (field: Locator): Promise<string> =>
  field.evaluate((element) => (element as unknown as HTMLInput).validationMessage);

async function isNarrow(page: Page): Promise<void> {
  const width = Number(await page.evaluate("document.documentElement.scrollWidth"));
  assert.ok(width <= 400, `the page is ${width} px wide`);
}

interface HTMLInput {
  readonly validationMessage: string;
}

describe(
  "the forms of the dashboard in Chromium",
  { timeout: 240_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    it("add a server and test it, call its tool, show the audit line and remove the server, by the keyboard and on a phone's width", async () => {
      using home = new GuardedHome({});
      await using gateway = await home.serve();
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      await page.setViewportSize({ width: 400, height: 800 });
      await page.keyboard.press("g");
      await page.keyboard.press("u");
      await page.getByRole("button", { name: "Add a server" }).press("Enter");
      const add = page.getByRole("dialog", { name: "Add a server" });
      await add.getByLabel("Name", { exact: true }).fill("notes");
      await add.getByLabel("Command line, or URL").fill(`'${process.execPath}' "${NOTES}`);
      await add.getByRole("button", { name: "Add" }).press("Enter");
      const line = add.getByLabel("Command line, or URL");
      await add.getByRole("alert").getByText("A quote is not closed.").waitFor();
      await line.fill(`'${process.execPath}' "${NOTES}"`);
      await add.getByRole("button", { name: "With a variable" }).press("Enter");
      await add.getByLabel("Name of variable 1").fill("NOTES_KEY");
      const value = add.getByLabel("Value of variable 1");
      assert.equal(await value.getAttribute("type"), "password");
      await value.fill(SECRET);
      assert.deepEqual(await problemsOf(page), []);
      await isNarrow(page);
      await add.getByRole("button", { name: "Add", exact: true }).press("Enter");
      const added = page.getByRole("dialog", { name: "Added notes" });
      await added.getByRole("button", { name: "Test" }).press("Enter");
      await added.getByText("It works: 2 tools").waitFor();
      await page.keyboard.press("Escape");
      await added.waitFor({ state: "detached" });
      const { mcpServers } = JSON.parse(readFileSync(home.files.TRUNKLINE_CONFIG, "utf8"));
      assert.equal(mcpServers.notes.env.NOTES_KEY, SECRET);
      const row = page.getByRole("row").filter({ hasText: "notes" });
      await row.waitFor();
      assert.ok(!(await page.content()).includes(SECRET));
      const shown = (await gateway.get("/api/servers", gateway.owner)).body;
      assert.ok(!shown.includes(SECRET));

      await page.keyboard.press("g");
      await page.keyboard.press("t");
      await page.getByRole("searchbox", { name: "Search tools" }).fill("read_note");
      await page.getByRole("row").filter({ hasText: "read_note" }).press("Enter");
      await page.getByRole("button", { name: "Schema and call" }).press("Enter");
      const tool = page.getByRole("dialog", { name: "read_note" });
      await tool.getByText("Input schema").press("Enter");
      await tool.getByLabel("Input schema").getByText('"required"').waitFor();
      await tool.getByRole("button", { name: "Call" }).press("Enter");
      const field = tool.getByLabel("name", { exact: true });
      assert.notEqual(await messageOf(field), "", "it is required");
      await field.fill("how");
      await field.press("Control+Enter");
      await tool.getByRole("region", { name: "Answer" }).getByText(SECRET).waitFor();
      const audit = tool.getByLabel("Audit line");
      await audit.getByText("ok").waitFor();
      await isNarrow(page);
      assert.match((await audit.textContent()) ?? "", /read_note by dashboard \(dashboard\)/);
      await tool.getByRole("button", { name: "As JSON" }).press("Enter");
      const json = tool.getByLabel("Arguments as JSON");
      assert.deepEqual(JSON.parse(await json.inputValue()), { name: "how" });
      await json.fill('{"name": 7}');
      await tool.getByRole("button", { name: "Call" }).press("Enter");
      await tool
        .getByText(/Invalid arguments for 'read_note'/)
        .first()
        .waitFor();
      assert.equal(await json.inputValue(), '{"name": 7}', "what was typed is still there");
      assert.deepEqual(await problemsOf(page), []);
      await json.fill('{"name": "never"}');
      await tool.getByRole("button", { name: "Call" }).press("Enter");
      await tool.getByRole("button", { name: "Cancel" }).press("Enter");
      await tool.getByText("You have cancelled the call.").waitFor();
      await tool.getByRole("button", { name: "Close" }).press("Enter");

      await page.keyboard.press("g");
      await page.keyboard.press("u");
      // The tools have rows of that name as well.
      await page.getByRole("heading", { level: 1, name: "Servers" }).waitFor();
      await row.press("Enter");
      await page.getByRole("button", { name: "Remove notes" }).press("Enter");
      const remove = page.getByRole("dialog", { name: "Remove notes" });
      await remove.getByText("Assistants lose its").waitFor();
      await remove.getByRole("button", { name: "Remove notes" }).press("Enter");
      await page.getByText("No servers").waitFor();
      watched.expectClean();
    });

    it("make an identity and switch a repository to it, by the keyboard and on a phone's width", async () => {
      using home = new GuardedHome({});
      const folder = repositoryIn(home);
      await using gateway = await home.serve();
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      await page.setViewportSize({ width: 400, height: 800 });
      await page.evaluate("location.assign('#/identities')");
      await page.getByRole("button", { name: "New identity" }).press("Enter");
      const add = page.getByRole("dialog", { name: "New identity" });
      await add.getByLabel("Name", { exact: true }).fill("-no name");
      await add.getByLabel("Account name").fill("ada");
      const email = add.getByLabel("Email address for commits");
      await email.fill("ada@acme.test");
      assert.deepEqual(await problemsOf(page), []);
      await email.press("Enter");
      await add.getByRole("alert").filter({ hasText: "Cannot" }).waitFor();
      assert.equal(await email.inputValue(), "ada@acme.test");
      await add.getByLabel("Name", { exact: true }).fill("work");
      await email.press("Enter");
      await page.getByText("ada@acme.test").first().waitFor();
      await add.waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Switch a repository" }).press("Enter");
      const change = page.getByRole("dialog", { name: "Switch a repository" });
      const field = change.getByLabel("Repository on the machine of the gateway");
      await field.fill(folder);
      await field.press("Enter");
      await change.getByText("Switched to work.").waitFor();
      const git = readFileSync(join(folder, ".git/config"), "utf8");
      assert.match(git, /ada@acme\.test/);
      await isNarrow(page);
      watched.expectClean(/status of 4/);
    });

    it("move a session with its work to another gateway, which says why it takes none without a token", async () => {
      using home = new GuardedHome(CONFIG);
      using other = new GuardedHome(CONFIG);
      const folder = repositoryIn(home);
      await using gateway = await home.serve();
      await using target = await other.serve();
      let session: string;
      {
        using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
        session = await begin(editor, folder);
        const asked = editor.send("session/prompt", {
          sessionId: session,
          prompt: said("say hello"),
        });
        await editor.until(({ messages }) => messages.find(({ id }) => id === asked));
      }
      writeFileSync(join(folder, "new.txt"), "not committed\n");
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      await page.evaluate(`location.assign('#/sessions/${session}')`);
      await page.getByRole("button", { name: "Move" }).press("Enter");
      const dialog = page.getByRole("dialog", { name: "Move the session" });
      await dialog.getByText("running processes").waitFor();
      assert.deepEqual(await problemsOf(page), []);
      await dialog.getByLabel("Gateway", { exact: true }).fill("nowhere");
      await dialog.getByRole("button", { name: "Move" }).press("Enter");
      await dialog.getByText("Cannot use 'nowhere' as a server").waitFor();
      await dialog.getByLabel("Gateway", { exact: true }).fill("ws://example.com");
      await dialog.getByRole("button", { name: "Move" }).press("Enter");
      await dialog.getByText("is not encrypted").waitFor();
      await dialog.getByLabel("Gateway", { exact: true }).fill(target.acp);
      await dialog.getByRole("button", { name: "Move" }).press("Enter");
      await dialog.getByRole("alert").getByText(/token/).waitFor();
      const token = dialog.getByLabel("Access token");
      assert.equal(await token.getAttribute("type"), "password");
      await token.fill(target.owner.authorization.replace("Bearer ", ""));
      await dialog.getByRole("button", { name: "Move" }).press("Enter");
      const done = page.getByRole("dialog", { name: "The session has moved" });
      await done.getByText(/^It works in .* there now/).waitFor();
      const { status, body } = await target.get(
        `/api/sessions/${session}/diff?path=new.txt`,
        target.owner,
      );
      assert.equal(status, 200);
      assert.match(body, /not committed/);
    });

    it("are not there for a token that may only look", async () => {
      using home = new GuardedHome({ mcpServers: { notes: { command: "node", args: [NOTES] } } });
      await using gateway = await home.serve();
      const scopes = ["dashboard", "review", "admin"].flatMap((scope) => ["--scope", scope]);
      const token = await home.createToken("looks", ...scopes, "--observe");
      await using watched = await browser.open({ extraHTTPHeaders: bearer(token) });
      const { page } = watched;
      await page.goto(`${gateway.ready.url}/#/servers`);
      const row = page.getByRole("row").filter({ hasText: "notes" });
      await row.click();
      await page.getByLabel("Log").waitFor();
      const buttons = ["Add a server", "Test notes", "Remove notes", "Restart notes"];
      for (const name of buttons) {
        assert.equal(await page.getByRole("button", { name }).count(), 0, name);
      }
      await page.evaluate("location.assign('#/identities')");
      await page.getByRole("heading", { name: "Identities", exact: true }).waitFor();
      for (const name of ["New identity", "Switch a repository"]) {
        assert.equal(await page.getByRole("button", { name }).count(), 0, name);
      }
      await page.evaluate("location.assign('#/audit')");
      await page.getByRole("textbox", { name: "What" }).fill("nothing like this");
      await page.getByText("No entry matches").waitFor();
      await page.evaluate("location.assign('#/toolbox')");
      await page.getByRole("searchbox", { name: "Search tools" }).fill("review_list");
      await page.getByRole("row").filter({ hasText: "review_list" }).click();
      await page.getByRole("button", { name: "Schema" }).click();
      await page.getByText("This token may look, and call nothing.").waitFor();
      assert.equal(await page.getByRole("button", { name: "Call" }).count(), 0);
    });
  },
);
