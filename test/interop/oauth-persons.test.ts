import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import { GuardedHome } from "../support/guarded-gateway.ts";
import { until } from "../support/until.ts";
import { GuardedServer } from "./oauth/guarded-server.ts";
import { Issuer, type IssuerOptions, packages } from "./oauth/issuer.ts";
import { Browser, Client } from "./oauth/people.ts";

import type { Json } from "../support/acp-app.ts";

/** A gateway with a server that each person uses as themselves, whose issuer is oidc-provider. */
async function rig(options: IssuerOptions = {}) {
  const ending = new AsyncDisposableStack();
  const server = ending.use(await GuardedServer.open());
  const issuer = ending.use(await Issuer.open(server.url, options));
  server.issuer = issuer;
  const work = { url: server.url, login: "each" };
  const home = ending.use(new GuardedHome({ mcpServers: { work } }));
  return { ending, server, issuer, home };
}

describe("a login of each person, with oidc-provider", { timeout: 300_000 }, () => {
  before(() => packages.install());

  it("lets two people call as themselves, also after a restart, and ends with a person", async () => {
    const { ending, server, issuer, home } = await rig();
    await using _ = ending;
    const ada = await home.createToken("ada-laptop", "--person", "ada");
    const phone = await home.createToken("ada-phone", "--person", "ada");
    const bob = await home.createToken("bob");
    {
      await using gateway = await home.serve();
      const client = await Client.begin(gateway, ada);
      assert.equal((await client.tools()).at(-1), "log_in_to_work");
      const { error } = await client.call("log_in_to_work");
      assert.equal(error.code, -32042);
      const [page] = error.data.elicitations as Json[];
      assert.equal(page?.url, `${gateway.ready.url}/logins#work`);
      const stranger = new Browser(gateway);
      assert.equal((await stranger.post("list")).status, 401);
      assert.equal((await stranger.post("begin", { server: "work" })).status, 401);
      const hers = new Browser(gateway);
      await hers.enter(ada);
      const done = await hers.logIn(issuer, "ada");
      assert.match(String(done.done), /Logged in to work/, JSON.stringify(done));
      await until(async () => (await client.tools()).includes("work"));
      assert.equal((await client.call()).result?.content[0].text, "done");
      assert.equal((await (await Client.begin(gateway, phone)).tools()).includes("work"), true);
      const his = await Client.begin(gateway, bob);
      assert.equal((await his.tools()).includes("work"), false);
      const browser = new Browser(gateway);
      await browser.enter(bob);
      const { servers, who } = await browser.post("list");
      assert.deepEqual([who, servers], ["bob", [{ name: "work", isIn: false, state: "no login" }]]);
      await browser.logIn(issuer, "bob");
      await until(async () => (await his.tools()).includes("work"));
      await his.call();
      await client.call();
      const calls = server.tokens.slice(-2);
      const people = await Promise.all(calls.map((token) => issuer.whose(token)));
      assert.deepEqual(people, ["bob", "ada"]);
    }
    const audit = await home.runInProcess("audit", "search", "--json");
    assert.match(audit.out, /"as": "token ada"/);
    await using gateway = await home.serve();
    const client = await Client.begin(gateway, phone);
    assert.equal((await client.call()).result?.content[0].text, "done");
    const [token = ""] = server.tokens.slice(-1);
    for (const entry of readdirSync(home.path, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const text = readFileSync(join(entry.parentPath, entry.name), "latin1");
      assert.ok(!text.includes(token), `${entry.name} has the token in clear`);
    }
    // One of her tokens is left after the first, none after the second.
    await home.run("token", "revoke", "ada-laptop");
    assert.equal(await issuer.whose(token), "ada");
    await home.run("token", "revoke", "ada-phone");
    assert.equal(await issuer.whose(token), undefined);
  });

  it("is finished only by the browser that has begun it", async () => {
    const { ending, issuer, home } = await rig();
    await using _ = ending;
    const [ada, bob] = [await home.createToken("ada"), await home.createToken("bob")];
    await using gateway = await home.serve();
    const [hers, his] = [new Browser(gateway), new Browser(gateway)];
    await hers.enter(ada);
    await his.enter(bob);
    // Bob has Ada open the link that he got: her account would be his.
    const { link } = await his.post("begin", { server: "work" });
    const last = await issuer.browse(String(link));
    for (const browser of [hers, new Browser(gateway)]) {
      const refused = await browser.post("finish", { search: last.search });
      assert.equal(refused.status, 403);
      assert.match(String(refused.error), /This browser has not begun this login/);
    }
    const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    assert.equal((await his.post("finish", { search: last.search }, foreign)).status, 403);
    assert.equal((await his.post("finish", { search: last.search })).status, 200);
    const { servers } = await hers.post("list");
    assert.equal((servers as Json[])[0]?.isIn, false);
  });

  it("renews a token that ends in the middle, and asks again where it cannot", async () => {
    // Tokens are renewed half a minute before their end.
    const { ending, server, issuer, home } = await rig({ lifetime: 31 });
    await using _ = ending;
    const ada = await home.createToken("ada");
    await using gateway = await home.serve();
    const browser = new Browser(gateway);
    await browser.enter(ada);
    await browser.logIn(issuer, "ada");
    const client = await Client.begin(gateway, ada);
    await until(async () => (await client.tools()).includes("work"));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const calls = await Promise.all([client.call(), client.call(), client.call()]);
    for (const { result } of calls) assert.equal(result?.content[0].text, "done");
    const renewals = issuer.events.filter((event) => event === "grant refresh_token");
    assert.ok(renewals.length >= 1, issuer.events.join());
    assert.ok(!issuer.events.includes("grant.error"), issuer.events.join());
    // Her issuer ends the grant, with its refresh token.
    const [token = ""] = server.tokens.slice(-1);
    await issuer.revoke(token);
    const { error } = await client.call();
    assert.equal(error?.code, -32042, JSON.stringify(error));
    await browser.logIn(issuer, "ada");
    assert.equal((await client.call()).result?.content[0].text, "done");
    await browser.post("end", { server: "work" });
    assert.equal((await client.call()).error?.code, -32042);
  });
});
