import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";

import type { Locator, Page } from "playwright-core";

import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";
import { AcpSocket } from "../../support/acp-socket.ts";
import { begin, CONFIG, repositoryIn, said } from "../../support/dashboard-home.ts";
import { bearer, GuardedHome } from "../../support/guarded-gateway.ts";

const NOTES = join(import.meta.dirname, "../../support/notes-server.mjs");
/** More than any page has; who presses Tab so often is in a trap. */
const MOST_STOPS = 200;

/** Of a date and time, in Chromium: six numbers, half of the day, and the calendar. */
const PARTS = 7;

/** A person without a mouse: Tab, Enter and what they type. */
class Keyboard {
  readonly #page: Page;
  #held = 0;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Goes on to something, and sees at each stop where the focus is. */
  async to(what: Locator): Promise<void> {
    await what.waitFor();
    for (let stop = 0; stop < MOST_STOPS; stop++) {
      if (await what.evaluate((element) => element.matches(":focus"))) return;
      await this.next();
    }
    assert.fail(`Tab does not come to ${String(what)}`);
  }

  async press(what: Locator): Promise<void> {
    await this.to(what);
    await this.#page.keyboard.press("Enter");
  }

  async type(what: Locator, text: string): Promise<void> {
    await this.to(what);
    await this.#page.keyboard.type(text);
  }

  /** To a page, by its link; on a phone the links are in a menu. */
  async visit(name: string): Promise<void> {
    const link = this.#page.getByRole("navigation").getByRole("link", { name });
    if (!(await link.isVisible()))
      await this.press(this.#page.getByRole("button", { name: "Menu" }));
    await this.press(link);
    await this.#page.getByRole("heading", { level: 1 }).waitFor();
  }

  /** Presses Tab once around the page, from its first stop. Returns what it has come to. */
  async around(): Promise<string[]> {
    await this.to(this.#page.getByRole("link", { name: "Skip to the content" }));
    const seen: string[] = [];
    do {
      assert.ok(seen.length < MOST_STOPS, `Tab does not come round: ${seen.join("; ")}`);
      seen.push(await this.next());
    } while (!seen.at(-1)?.startsWith("A Skip"));
    return seen;
  }

  /** The next stop, which can be seen. */
  async next(): Promise<string> {
    const before = await this.#page.evaluate(FOCUS);
    await this.#page.keyboard.press("Tab");
    const now = (await this.#page.evaluate(FOCUS)) as FocusState;
    // The end of the page is a stop as well: the browser's own controls come there.
    if (now.says === "") return now.says;
    assert.equal(now.problem, "", `${now.says} has the focus`);
    // The parts of a date are stops of one field.
    this.#held = isDeepStrictEqual(now, before) ? this.#held + 1 : 0;
    assert.ok(this.#held <= PARTS, `${now.says} holds the focus`);
    return now.says;
  }
}

interface FocusState {
  readonly says: string;
  readonly at: string;
  /** Why a person does not see that it has the focus. */
  readonly problem: string;
}

// Runs in the browser.
const FOCUS = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return { says: "", at: "", problem: "" };
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const [x, y] = [Math.max(0, left), Math.max(0, top)];
  const [width, height] = [Math.min(innerWidth, right) - x, Math.min(innerHeight, bottom) - y];
  const over = document.elementFromPoint(x + width / 2, y + height / 2);
  const isOver = over !== null && (element.contains(over) || over.contains(element));
  const problem =
    width < 1 || height < 1 ? "it is out of view"
    : outlineStyle === "none" || outlineWidth === "0px" ? "it has no outline"
    : isOver || element.labels?.[0]?.contains(over) ? ""
    : "it is covered by " + over?.outerHTML.slice(0, 100);
  const says = element.tagName + " " + (element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent ?? "").slice(0, 60);
  return { says, at: [left, top].map(Math.round).join(), problem };
})()`;

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
