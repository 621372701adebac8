import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import type { Json } from "../support/acp-app.ts";
import { GuardedHome } from "../support/guarded-gateway.ts";
import { until } from "../support/until.ts";
import { IdentityProvider, openTrusting } from "./oauth/enterprise.ts";
import { GuardedServer } from "./oauth/guarded-server.ts";
import { type Issuer, type IssuerOptions, packages } from "./oauth/issuer.ts";
import { Browser, Client } from "./oauth/people.ts";

interface Place {
  readonly server: GuardedServer;
  readonly issuer: Issuer;
}

/**
 * A gateway with two servers, each with an authorization server of its own, and one identity provider that
 * vouches for people at both. All issuers are oidc-provider.
 */
async function rig(options: IssuerOptions = {}) {
  const ending = new AsyncDisposableStack();
  const trusted: IdentityProvider[] = [];
  const open = async (): Promise<Place> => {
    const server = ending.use(await GuardedServer.open());
    const who = (): IdentityProvider => trusted[0] as IdentityProvider;
    const issuer = ending.use(await openTrusting(server.url, who, options));
    server.issuer = issuer;
    return { server, issuer };
  };
  const [work, mail] = [await open(), await open()];
  const pairs = new Map([work, mail].map(({ server, issuer }) => [issuer.url, server.url]));
  const provider = ending.use(await IdentityProvider.open(pairs, options));
  trusted.push(provider);
  const identityProvider = {
    ...{ issuer: provider.issuer.url, clientId: "gateway", clientSecret: "s3cret" },
  };
  const entry = ({ server, issuer }: Place) => ({
    ...{ url: server.url, login: "passed on" },
    oauth: {
      ...{ issuer: issuer.url, clientId: "trunkline", clientSecret: "other-s3cret" },
      identityProvider,
    },
  });
  const mcpServers = { work: entry(work), mail: entry(mail) };
  const home = ending.use(new GuardedHome({ mcpServers }));
  return { ending, work, mail, provider, home };
}

const textOf = ({ result }: Json): unknown => result?.content[0].text;

describe(
  "people whom an identity provider vouches for, with oidc-provider",
  { timeout: 300_000 },
  () => {
    before(() => packages.install());

    it("log in once for all its servers, and each is called as the person", async () => {
      const { ending, work, mail, provider, home } = await rig();
      await using _ = ending;
      const [ada, bob] = [await home.createToken("ada"), await home.createToken("bob")];
      {
        await using gateway = await home.serve();
        const hers = await Client.begin(gateway, ada);
        assert.ok((await hers.tools()).includes("log_in_to_work"));
        const { error } = await hers.call("log_in_to_work");
        assert.equal(error?.code, -32042);
        assert.equal(error.data.elicitations[0]?.url, `${gateway.ready.url}/logins#work`);
        const browser = new Browser(gateway);
        await browser.enter(ada);
        const done = await browser.logIn(provider.issuer, "ada");
        assert.match(String(done.done), /Logged in to work/, JSON.stringify(done));
        await until(async () => (await hers.tools()).includes("mail_work"));
        assert.equal(textOf(await hers.call("mail_work")), "done");
        const tools = await hers.tools();
        const { servers } = await browser.post("list");
        assert.deepEqual(
          (servers as Json[]).map(({ name, isIn }) => [name, isIn]),
          [
            ["work", true],
            ["mail", true],
          ],
        );
        const his = await Client.begin(gateway, bob);
        assert.ok(!(await his.tools()).includes("mail_work"));
        const other = new Browser(gateway);
        await other.enter(bob);
        await other.logIn(provider.issuer, "bob", "mail");
        await until(async () => (await his.tools()).includes("mail_work"));
        const name = tools.find((tool) => tool === "work" || tool === "work_work") ?? "";
        const both = [hers.call(name), his.call(name), his.call("mail_work")];
        for (const answer of await Promise.all(both)) assert.equal(textOf(answer), "done");
        const at = async ({ server, issuer }: Place): Promise<string[]> => {
          const people = await Promise.all(server.tokens.map((token) => issuer.whose(token)));
          return [...new Set(people)].map(String).toSorted();
        };
        assert.deepEqual(
          [await at(work), await at(mail)],
          [
            ["ada", "bob"],
            ["ada", "bob"],
          ],
        );
        // Each assertion was for one server, by the person's ID token.
        for (const asked of provider.asked) {
          const place = [work, mail].find(({ issuer }) => issuer.url === asked["audience"]);
          assert.equal(asked["resource"], place?.server.url);
          assert.equal(asked["scope"], "tools:read");
          assert.equal(asked["subject_token_type"], "urn:ietf:params:oauth:token-type:id_token");
        }
        const [first] = work.server.server.of("initialize");
        const extensions = first?.message["params"].capabilities.extensions;
        assert.deepEqual(
          extensions["io.modelcontextprotocol/enterprise-managed-authorization"],
          {},
        );
      }
      // After a restart nobody logs in again, and no token lies on the disk in clear.
      await using gateway = await home.serve();
      const hers = await Client.begin(gateway, ada);
      await until(async () => (await hers.tools()).includes("mail_work"));
      assert.equal(textOf(await hers.call("mail_work")), "done");
      const secrets = [
        ...[...work.server.tokens, ...mail.server.tokens],
        ...provider.asked.map((asked) => asked["subject_token"] ?? ""),
      ];
      for (const found of readdirSync(home.path, { recursive: true, withFileTypes: true })) {
        if (!found.isFile()) continue;
        const text = readFileSync(join(found.parentPath, found.name), "latin1");
        assert.ok(!secrets.some((secret) => text.includes(secret)), found.name);
      }
      const { out } = await home.runInProcess("server", "list", "--people", "--json");
      const logins: Json[] = JSON.parse(out).logins;
      assert.deepEqual(
        logins.map(({ server, isRenewed }) => [server, isRenewed]),
        [
          [provider.issuer.url, true],
          [provider.issuer.url, true],
        ],
      );
      // Her last token goes, and with it her login at the identity provider.
      await home.run("token", "revoke", "ada");
      assert.ok(provider.issuer.events.includes("refresh_token.destroyed"));
      const left = await home.runInProcess("server", "list", "--people", "--json");
      assert.equal(JSON.parse(left.out).logins.length, 1);
    });

    it("are let in anew where a token or an ID token ends, and not once they are removed", async () => {
      // Both are renewed half a minute before their end.
      const { ending, work, provider, home } = await rig({ lifetime: 31, identityLifetime: 31 });
      await using _ = ending;
      const ada = await home.createToken("ada");
      await using gateway = await home.serve();
      const client = await Client.begin(gateway, ada);
      const browser = new Browser(gateway);
      await browser.enter(ada);
      await browser.logIn(provider.issuer, "ada");
      await until(async () => (await client.tools()).includes("mail_work"));
      const name = (await client.tools()).find((tool) => tool.startsWith("work")) ?? "";
      await client.call(name);
      await sleep(1_500);
      const before = provider.asked.length;
      const calls = await Promise.all([client.call(name), client.call(name), client.call(name)]);
      for (const answer of calls) assert.equal(textOf(answer), "done");
      const asked = provider.asked.slice(before);
      assert.ok(asked.length >= 1);
      assert.ok(provider.issuer.events.includes("grant refresh_token"));
      assert.notEqual(asked[0]?.["subject_token"], provider.asked[0]?.["subject_token"]);
      // The server ends her token: she gets another without a browser.
      await work.issuer.revoke(work.server.tokens.at(-1) ?? "");
      assert.equal(textOf(await client.call(name)), "done");
      // Her organization keeps her from the server: no login helps, and she is told who says so.
      provider.barred.add("ada");
      await sleep(1_500);
      const barred = await client.call(name);
      assert.match(JSON.stringify(barred), /did not pass you on: access_denied: not for you/);
      provider.barred.delete("ada");
      assert.equal(textOf(await client.call(name)), "done");
      // She leaves it: her login is over, and she is asked for another.
      provider.issuer.removed.add("ada");
      await sleep(1_500);
      assert.equal((await client.call(name)).error?.code, -32042);
      provider.issuer.removed.delete("ada");
      await browser.logIn(provider.issuer, "ada");
      assert.equal(textOf(await client.call(name)), "done");
      // She logs out while a token for the server would still be good.
      await browser.post("end", { server: "work" });
      assert.equal((await client.call(name)).error?.code, -32042);
    });

    it("are not passed on with what was made out to somebody else", async () => {
      const { ending, work, mail, provider, home } = await rig();
      await using _ = ending;
      const ada = await home.createToken("ada");
      await using gateway = await home.serve();
      const browser = new Browser(gateway);
      await browser.enter(ada);
      const lies = [
        [{ iss: "https://evil.example" }, /an assertion of another issuer/],
        [{ aud: mail.issuer.url }, /an assertion for another authorization server/],
        [
          { aud: [work.issuer.url, mail.issuer.url] },
          /an assertion for another authorization server/,
        ],
        [{ resource: mail.server.url }, /an assertion for another server/],
        [{ typ: "at+jwt" }, /no identity assertion/],
        [{ type: "urn:ietf:params:oauth:token-type:access_token" }, /another kind of token/],
      ] as const;
      await browser.logIn(provider.issuer, "ada");
      const client = await Client.begin(gateway, ada);
      await until(async () => (await client.tools()).includes("mail_work"));
      const name = (await client.tools()).find((tool) => tool.startsWith("work")) ?? "";
      assert.equal(textOf(await client.call(name)), "done");
      await work.issuer.revoke(work.server.tokens.at(-1) ?? "");
      const good = work.server.tokens.length;
      work.issuer.events.length = 0;
      for (const [lie, says] of lies) {
        provider.lie = lie as IdentityProvider["lie"];
        assert.match(JSON.stringify(await client.call(name)), says);
      }
      assert.equal(work.server.tokens.length, good);
      assert.deepEqual(work.issuer.events, []);
      provider.lie = {};
      assert.equal(textOf(await client.call(name)), "done");
    });
  },
);
