import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { problemsOf } from "../../browser/axe.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";
import { bearer, GuardedHome } from "../../support/guarded-gateway.ts";
import { GuardedServer } from "../oauth/guarded-server.ts";
import { Issuer, packages } from "../oauth/issuer.ts";

describe(
  "a login to a server in Chromium, with oidc-provider",
  { timeout: 600_000, skip: chromiumPath() === undefined ? NO_CHROMIUM : false },
  () => {
    let browser: DashboardBrowser;
    before(async () => {
      await packages.install();
      browser = await DashboardBrowser.launch();
    });
    after(() => browser[Symbol.asyncDispose]());

    async function rig() {
      const ending = new AsyncDisposableStack();
      const server = ending.use(await GuardedServer.open());
      const issuer = ending.use(await Issuer.open(server.url));
      server.issuer = issuer;
      const home = ending.use(new GuardedHome({ mcpServers: { work: { url: server.url } } }));
      const gateway = ending.use(await home.serve());
      return { ending, server, issuer, home, gateway };
    }

    it("ends at a server that works, by the keyboard and on a phone's width, with no token on disk in clear", async () => {
      const { ending, server, issuer, home, gateway } = await rig();
      await using _ = ending;
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      await page.setViewportSize({ width: 400, height: 800 });
      await page.evaluate("location.assign('#/servers')");
      const row = page.getByRole("row").filter({ hasText: "work" });
      await row.focus();
      await row.press("Enter");
      await page.getByRole("button", { name: "Log in to work" }).press("Enter");
      const login = page.getByRole("dialog", { name: "Log in to work" });
      await login.getByRole("button", { name: "Get a login link" }).press("Enter");
      const link = login.getByRole("link", { name: `Log in at ${issuer.url}` });
      await link.waitFor();
      assert.deepEqual(await problemsOf(page), []);
      const width = Number(await page.evaluate("document.documentElement.scrollWidth"));
      assert.ok(width <= 400, `the page is ${width} px wide`);
      // The issuer's own pages log in and agree; the last page is that of the gateway.
      const [tab] = await Promise.all([page.context().waitForEvent("page"), link.press("Enter")]);
      await tab.waitForURL(/\/callback\?/);
      await login.getByText(`Logged in to 'work' at ${issuer.url}.`).waitFor();
      assert.ok(issuer.events.includes("registration_create.success"), issuer.events.join());
      await tab.close();
      await page.keyboard.press("Escape");
      await login.waitFor({ state: "detached" });
      await row.getByText("up", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Test work" }).press("Enter");
      const tested = page.getByRole("dialog", { name: "Test work" });
      await tested.getByRole("button", { name: "Test", exact: true }).press("Enter");
      await tested.getByText("It works: 1 tool").waitFor();
      const [token = ""] = server.tokens;
      assert.notEqual(token, "");
      const entries = readdirSync(home.path, { recursive: true, withFileTypes: true });
      for (const entry of entries.filter((each) => each.isFile())) {
        const text = readFileSync(join(entry.parentPath, entry.name), "latin1");
        assert.ok(!text.includes(token), `${entry.name} has the token in clear`);
      }
      assert.ok(!(await page.content()).includes(token));
    });

    it("takes the address of the last page from a browser on another machine, and not that of another login", async () => {
      const { ending, issuer, gateway } = await rig();
      await using _ = ending;
      await using watched = await browser.enter(gateway);
      const { page } = watched;
      await page.evaluate("location.assign('#/servers')");
      await page.getByRole("row").filter({ hasText: "work" }).click();
      await page.getByRole("button", { name: "Log in to work" }).click();
      const login = page.getByRole("dialog", { name: "Log in to work" });
      await login.getByRole("button", { name: "Get a login link" }).click();
      const link = login.getByRole("link", { name: `Log in at ${issuer.url}` });
      const last = await issuer.browse((await link.getAttribute("href")) ?? "");
      const address = login.getByRole("textbox");
      await address.fill(last.href.replace(/state=[^&]*/, "state=wrong"));
      await address.press("Enter");
      await login.getByText("This is not the address of the last page of this login").waitFor();
      await address.fill(last.href);
      await address.press("Enter");
      await login.getByText(`Logged in to 'work' at ${issuer.url}.`).waitFor();
    });

    it("ends when its dialog is closed, and is not there for a token that may only look", async () => {
      const { ending, issuer, home, gateway } = await rig();
      await using _ = ending;
      {
        await using watched = await browser.enter(gateway);
        const { page } = watched;
        await page.evaluate("location.assign('#/servers')");
        await page.getByRole("row").filter({ hasText: "work" }).click();
        const login = page.getByRole("dialog", { name: "Log in to work" });
        for (let round = 0; round < 2; round += 1) {
          await page.getByRole("button", { name: "Log in to work" }).click();
          await login.getByRole("button", { name: "Get a login link" }).click();
          await login.getByRole("link", { name: `Log in at ${issuer.url}` }).waitFor();
          await page.keyboard.press("Escape");
          await login.waitFor({ state: "detached" });
        }
      }
      const scopes = ["dashboard", "admin"].flatMap((scope) => ["--scope", scope]);
      const token = await home.createToken("looks", ...scopes, "--observe");
      await using watched = await browser.open({ extraHTTPHeaders: bearer(token) });
      await watched.page.goto(`${gateway.ready.url}/#/servers`);
      await watched.page.getByRole("row").filter({ hasText: "work" }).click();
      await watched.page.getByLabel("Log").waitFor();
      const button = watched.page.getByRole("button", { name: "Log in to work" });
      assert.equal(await button.count(), 0);
      const path = "/api/servers/work/login";
      assert.equal((await gateway.post({}, bearer(token), path)).status, 403);
    });
  },
);
