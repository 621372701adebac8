import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { problemsOf } from "../../browser/axe.ts";
import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";
import { bearer, GuardedHome } from "../../support/guarded-gateway.ts";
import { until } from "../../support/until.ts";
import { GuardedServer } from "../oauth/guarded-server.ts";
import { Issuer, packages } from "../oauth/issuer.ts";
import { Browser, Client } from "../oauth/people.ts";

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

    it("is seen and ended by its person, and by the owner, by the keyboard on a phone's width", async () => {
      await using ending = new AsyncDisposableStack();
      const server = ending.use(await GuardedServer.open());
      const issuer = ending.use(await Issuer.open(server.url));
      server.issuer = issuer;
      const mcpServers = { work: { url: server.url, login: "each" } };
      const home = ending.use(new GuardedHome({ mcpServers }));
      const gateway = ending.use(await home.serve());
      const scopes = ["tools", "dashboard"].flatMap((scope) => ["--scope", scope]);
      const [ada, bob] = [
        await home.createToken("ada-laptop", "--person", "ada", ...scopes),
        await home.createToken("bob-laptop", "--person", "bob", ...scopes),
      ];
      const used: string[] = [];
      for (const [token, name] of [
        [ada, "ada"],
        [bob, "bob"],
      ] as const) {
        const person = new Browser(gateway);
        await person.enter(token);
        await person.logIn(issuer, name);
        const client = await Client.begin(gateway, token);
        await until(async () => (await client.tools()).includes("work"));
        await client.call();
        used.push(server.tokens.at(-1) ?? "");
      }
      const [hers = "", his = ""] = used;
      await using watched = await browser.open({ extraHTTPHeaders: bearer(ada) });
      const { page } = watched;
      await page.setViewportSize({ width: 400, height: 800 });
      await page.goto(`${gateway.ready.url}/#/logins`);
      const end = page.getByRole("button", { name: "End the login of ada at work" });
      await end.waitFor();
      assert.equal(await page.getByText("bob").count(), 0);
      assert.deepEqual(await problemsOf(page), []);
      const width = Number(await page.evaluate("document.documentElement.scrollWidth"));
      assert.ok(width <= 400, `the page is ${width} px wide`);
      // By Tab alone: from the beginning of the page to the button.
      const focused = "document.activeElement?.getAttribute('aria-label')";
      const isThere = async (): Promise<boolean> =>
        (await page.evaluate(focused)) === "End the login of ada at work";
      for (let times = 0; times < 60 && !(await isThere()); times++) {
        await page.keyboard.press("Tab");
      }
      assert.equal(await isThere(), true);
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Really end the login of ada at work" }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByText("No logins", { exact: true }).waitFor();
      assert.deepEqual([await issuer.whose(hers), await issuer.whose(his)], [undefined, "bob"]);
      // The owner sees that of the other, and ends it.
      await using owner = await browser.enter(gateway);
      await owner.page.evaluate("location.assign('#/logins')");
      const other = owner.page.getByRole("button", { name: "End the login of bob at work" });
      await other.press("Enter");
      await owner.page.keyboard.press("Enter");
      await owner.page.getByText("No logins", { exact: true }).waitFor();
      assert.equal(await issuer.whose(his), undefined);
      const client = await Client.begin(gateway, bob);
      assert.equal((await client.call()).error?.code, -32042);
      const { out } = await home.runInProcess("audit", "search", "--json");
      assert.equal(out.match(/"event": ?"login-ended"/g)?.length, 2);
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
