import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import type { Locator } from "playwright-core";

import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";
import { Keyboard } from "../../browser/keyboard.ts";
import { AcpSocket } from "../../support/acp-socket.ts";
import { begin, CONFIG, repositoryIn, said } from "../../support/dashboard-home.ts";
import { bearer, GuardedHome } from "../../support/guarded-gateway.ts";

const NOTES = join(import.meta.dirname, "../../support/notes-server.mjs");

describe(
  "the dashboard by keyboard alone, in Chromium",
  { timeout: 600_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    for (const width of [1280, 400]) {
      it(`starts a session, answers, comments, undoes, adds a server and calls its tool, at ${width} px`, async () => {
        using home = new GuardedHome(CONFIG);
        const folder = repositoryIn(home);
        await using gateway = await home.serve();
        await using watched = await browser.open({ viewport: { width, height: 800 } });
        const { page } = watched;
        const keyboard = new Keyboard(page);
        await page.goto(gateway.ready.login);
        await page.getByRole("status").filter({ hasText: "live" }).waitFor();

        await keyboard.press(page.getByRole("button", { name: "New c", exact: true }));
        const start = page.getByRole("dialog", { name: "New session" });
        await keyboard.type(start.getByRole("textbox", { name: "Folder" }), folder);
        await keyboard.type(start.getByRole("combobox", { name: "Agent" }), "trunkline");
        await keyboard.type(start.getByRole("textbox", { name: "Prompt" }), "/init ");
        await keyboard.press(start.getByRole("button", { name: "Start" }));

        const ask = page.getByRole("region", { name: "Waiting for you" });
        await keyboard.press(ask.getByRole("button", { name: /^Allow/ }).first());
        await ask.waitFor({ state: "detached" });
        await page.getByText("idle", { exact: true }).waitFor();
        const file = join(folder, "AGENTS.md");
        assert.ok(existsSync(file));

        await keyboard.press(page.getByRole("tab", { name: "Changes" }));
        const line = (n: number): Locator =>
          page.getByRole("button", { name: `Comment on new line ${n}`, exact: true });
        await keyboard.to(line(1));
        await page.keyboard.press("ArrowDown");
        await keyboard.press(line(2));
        const comment = page.getByRole("form", { name: "Comment on line 2" });
        await keyboard.type(comment.getByRole("textbox"), "Say more.");
        await keyboard.press(comment.getByRole("button", { name: "Comment" }));
        await page.locator(".thread").getByText("Say more.").waitFor();

        await keyboard.press(page.getByRole("button", { name: "Undo" }));
        const undo = page.getByRole("dialog", { name: "Undo" });
        await keyboard.press(undo.getByRole("button", { name: "Restore these files" }));
        await undo.waitFor({ state: "detached" });
        await page.getByText("Nothing is changed").waitFor();
        assert.ok(!existsSync(file));

        await keyboard.visit("Servers");
        await keyboard.press(page.getByRole("button", { name: "Add a server" }));
        const add = page.getByRole("dialog", { name: "Add a server" });
        await keyboard.type(add.getByLabel("Name", { exact: true }), "notes");
        await keyboard.type(
          add.getByLabel("Command line, or URL"),
          `'${process.execPath}' '${NOTES}'`,
        );
        await keyboard.press(add.getByRole("button", { name: "Add", exact: true }));
        const added = page.getByRole("dialog", { name: "Added notes" });
        await keyboard.press(added.getByRole("button", { name: "Close" }));
        await added.waitFor({ state: "detached" });

        await keyboard.visit("Toolbox");
        await keyboard.type(page.getByRole("searchbox", { name: "Search tools" }), "read_note");
        await keyboard.press(page.getByRole("row").filter({ hasText: "read_note" }));
        await keyboard.press(page.getByRole("button", { name: "Schema and call" }));
        const tool = page.getByRole("dialog", { name: "read_note" });
        await keyboard.type(tool.getByLabel("name", { exact: true }), "how");
        await keyboard.press(tool.getByRole("button", { name: "Call" }));
        await tool.getByRole("region", { name: "Answer" }).waitFor();
        await keyboard.press(tool.getByRole("button", { name: "Close" }));
        await tool.waitFor({ state: "detached" });
        watched.expectClean();
      });

      it(`shows every page and a session to a token that may only look, and leads nobody to what it refuses, at ${width} px`, async () => {
        using home = new GuardedHome({
          ...CONFIG,
          mcpServers: { notes: { command: "node", args: [NOTES] } },
        });
        await using gateway = await home.serve();
        using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
        const session = await begin(editor, repositoryIn(home));
        await editor.ask("session/prompt", { sessionId: session, prompt: said("put a.txt|b|0") });
        editor.send("session/prompt", { sessionId: session, prompt: said("permission") });
        const scopes = ["dashboard", "review", "sessions", "admin", "tools"];
        const token = await home.createToken(
          "looks",
          ...scopes.flatMap((scope) => ["--scope", scope]),
          "--observe",
        );
        await using watched = await browser.open({
          viewport: { width, height: 800 },
          extraHTTPHeaders: bearer(token),
        });
        const { page } = watched;
        const keyboard = new Keyboard(page);
        await page.goto(gateway.ready.url);
        await page.getByRole("status").filter({ hasText: "live" }).waitFor();
        const pages = [
          "Start",
          "Remote runs",
          "Review",
          "Identities",
          "Toolbox",
          "Servers",
          "Audit",
          "Tokens",
        ];
        const stops: string[] = [];
        for (const name of pages) {
          await keyboard.visit(name);
          stops.push(...(await keyboard.around()));
        }
        await keyboard.visit("Sessions");
        await keyboard.press(page.getByRole("row").getByRole("link").first());
        await page.getByRole("region", { name: "Waiting for you" }).waitFor();
        stops.push(...(await keyboard.around()));
        await keyboard.press(page.getByRole("tab", { name: "Changes" }));
        await page.getByRole("region", { name: "Diff of a.txt" }).waitFor();
        stops.push(...(await keyboard.around()));
        const refused =
          /^BUTTON (?:New|Add|Allow|Reject|Comment|Undo|Restart|Remove|Call|Revoke|Approve|Deny|Send|Move)/;
        assert.deepEqual(
          stops.filter((says) => refused.test(says)),
          [],
        );
        assert.ok(stops.includes("A Skip to the content"), stops.join("; "));
        watched.expectClean();
      });
    }
  },
);
