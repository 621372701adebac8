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
      const [tab] = await Promise.all([
        page.context().waitForEvent("page"),
        page.getByRole("link", { name: "Log in to work" }).press("Enter"),
      ]);
      await tab.setViewportSize({ width: 400, height: 800 });
      const entry = tab.getByRole("listitem").filter({ hasText: "work" });
      await entry.getByText("no login").waitFor();
      assert.deepEqual(await problemsOf(tab), []);
      const width = Number(await tab.evaluate("document.documentElement.scrollWidth"));
      assert.ok(width <= 400, `the page is ${width} px wide`);
      // The issuer's own pages log in and agree; the last page is that of the gateway.
      await entry.getByRole("button", { name: "Log in" }).press("Enter");
      await tab.getByText("Logged in to work.").waitFor();
      await entry.getByText(`logged in at ${issuer.url}`).waitFor();
      assert.equal(new URL(tab.url()).search, "");
      assert.ok(issuer.events.includes("registration_create.success"), issuer.events.join());
      await tab.close();
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

    it("is not there for a token that may only look", async () => {
      const { ending, home, gateway } = await rig();
      await using _ = ending;
      const scopes = ["dashboard", "admin"].flatMap((scope) => ["--scope", scope]);
      const token = await home.createToken("looks", ...scopes, "--observe");
      await using watched = await browser.open({ extraHTTPHeaders: bearer(token) });
      await watched.page.goto(`${gateway.ready.url}/#/servers`);
      await watched.page.getByRole("row").filter({ hasText: "work" }).click();
      await watched.page.getByLabel("Log").waitFor();
      const button = watched.page.getByRole("link", { name: "Log in to work" });
      assert.equal(await button.count(), 0);
      const begun = await gateway.post({ server: "work" }, bearer(token), "/logins/begin");
      assert.equal(begun.status, 404, begun.body);
    });
  },
);
