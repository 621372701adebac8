import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { problemsOf } from "../../browser/axe.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";
import { bearer, GuardedHome } from "../../support/guarded-gateway.ts";

/** A home without a model, on a machine that has two agents. */
class HomeWithAgents extends GuardedHome {
  readonly bin = join(this.path, "bin");

  constructor() {
    super({ agent: { sandbox: "on" } });
    mkdirSync(this.bin);
    for (const name of ["opencode", "goose"]) {
      const touch = `#!/bin/sh\ntouch '${this.path}/was-started'\n`;
      chmodSync(this.write(join("bin", name), touch), 0o755);
    }
    Object.assign(this.files, { PATH: this.bin, TRUNKLINE_TOKEN_STORE: "file" });
  }

  get config(): string {
    return readFileSync(this.files.TRUNKLINE_CONFIG, "utf8");
  }
}

describe(
  "agents that are installed, on the dashboard in Chromium",
  { timeout: 240_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    it("are offered to the owner where there is no model, and one is added by the keyboard, 400 px wide", async () => {
      using home = new HomeWithAgents();
      await using gateway = await home.serve();
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      await page.setViewportSize({ width: 400, height: 800 });
      const offer = page.getByRole("region", { name: "Agents on this machine" });
      await offer.getByText(`${home.bin}/goose acp`, { exact: true }).waitFor();
      assert.deepEqual(await problemsOf(page), []);
      const width = Number(await page.evaluate("document.documentElement.scrollWidth"));
      assert.ok(width <= 400, `the page is ${width} px wide`);
      const isFocused = async (): Promise<boolean> =>
        (await page.locator("button:focus", { hasText: "Add opencode" }).count()) === 1;
      for (let keys = 0; !(await isFocused()); keys++) {
        assert.ok(keys < 100, "the Tab key reaches the button");
        await page.keyboard.press("Tab");
      }
      await page.keyboard.press("Enter");
      await offer.getByRole("status").filter({ hasText: "opencode was added to" }).waitFor();
      await offer.getByRole("button").first().waitFor({ state: "detached" });
      const config = JSON.parse(home.config);
      assert.deepEqual(config.agents, {
        opencode: { command: `${home.bin}/opencode`, args: ["acp"] },
      });
      assert.deepEqual(config.agent, { sandbox: "on", name: "opencode" });
      assert.equal(existsSync(join(home.path, "was-started")), false, "nothing was started");
      watched.expectClean();
    });

    it("have no button for a token that may not name programs or only looks, and its POST is refused", async () => {
      using home = new HomeWithAgents();
      await using gateway = await home.serve();
      const before = home.config;
      const scopes = (...names: string[]): string[] => names.flatMap((name) => ["--scope", name]);
      const limited = [
        scopes("dashboard", "admin"),
        [...scopes("dashboard", "admin", "programs"), "--observe"],
      ];
      const agent = { name: "goose", runs: `${home.bin}/goose acp` };
      const add = (token: string): Promise<{ status: number; body: string }> =>
        gateway.post(agent, bearer(token), "/api/agents/add");
      for (const [at, options] of limited.entries()) {
        const token = await home.createToken(`looks-${at}`, ...options);
        await using watched = await browser.open({ extraHTTPHeaders: bearer(token) });
        const { page } = watched;
        await page.goto(gateway.ready.url);
        const offer = page.getByRole("region", { name: "Agents on this machine" });
        await offer.getByText(/agent add goose --default -- /).waitFor();
        assert.equal(await offer.getByRole("button", { name: /^Add / }).count(), 0);
        const { status, body } = await add(token);
        assert.equal(status, 403, body);
        watched.expectClean();
      }
      const other = await home.createToken("sees", ...scopes("dashboard", "programs"));
      assert.equal((await add(other)).status, 403);
      assert.equal((await gateway.get("/api/agents", bearer(other))).status, 403);
      assert.equal(home.config, before);
      const may = await home.createToken("may", ...scopes("dashboard", "admin", "programs"));
      const shown = { ...agent, runs: "/bin/sh" };
      const changed = await gateway.post(shown, bearer(may), "/api/agents/add");
      assert.equal(changed.status, 409, "only what was offered is added");
      assert.equal(home.config, before);
      assert.equal((await add(may)).status, 200);
      assert.match(home.config, /goose acp|"goose"/);
    });
  },
);
