import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { jetstream } from "@nats-io/jetstream";

import { connectTo } from "../../../test/support/fleet-node.ts";
import { FleetOfApps, type AppNode } from "../../../test/support/fleet-of-apps.ts";
import { noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/until.ts";
import { SmallIssuer } from "../../../test/upstream/small-issuer.ts";
import { BEARER_PREFIX } from "../../base/principal.ts";
import { ServerLogins } from "../../upstream/open/server-logins.ts";
import { EncryptedFile } from "../../identity/tokens/encrypted-file.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { Reviews } from "../../store/review/reviews.ts";
import { currentIdentities } from "../../identity/open/open-identities.ts";

const KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n";

describe("Shared", { skip: noNats }, () => {
  it("shares identities without keys, tokens and paths, and follows their configuration", async () => {
    await using fleet = await FleetOfApps.start();
    const work = {
      provider: "github",
      user: "ada",
      email: "ada@work.example",
      sshKey: "~/.ssh/work",
      signing: { format: "ssh", key: "~/.ssh/sign", signCommits: true },
      tokenSource: { kind: "environment", variable: "WORK_TOKEN" },
      match: [{ owner: "acme" }, { path: "/home/ada/work" }],
    };
    await using a = await fleet.node("a", {}, [], { identities: { work } });
    const own = { work: { provider: "github", sshKey: "/keys/of-b" } };
    await using b = await fleet.node("b", {}, [], { identities: own });
    await using c = await fleet.node("c", {});
    await until(async () => (await identityAt(b))?.email === "ada@work.example");
    await until(async () => (await identityAt(c))?.email === "ada@work.example");
    const there = await identityAt(c);
    assert.deepEqual(there?.settings, {
      provider: "github",
      user: "ada",
      email: "ada@work.example",
      signing: { format: "ssh", signCommits: true },
      match: [{ owner: "acme" }],
      tokenSource: { kind: "none" },
    });
    assert.equal((await identityAt(b))?.sshKey, "/keys/of-b");
    assert.match((await identityAt(a))?.sshKey ?? "", /\/work$/);
    const config = JSON.parse(readFileSync(fleet.config("a"), "utf8")) as object;
    writeFileSync(fleet.config("a"), JSON.stringify({ ...config, identities: {} }));
    await until(async () => (await identityAt(c))?.email === undefined);
  });

  it("lets no other node say where the token of an identity goes", async () => {
    await using fleet = await FleetOfApps.start();
    const own = { work: { provider: "github" } };
    await using a = await fleet.node("a", {}, [], { identities: own });
    await until(() => a.shared.status?.state.isUpToDate === true);
    await using rogue = await connectTo(fleet.nats.url, "rogue");
    const share = async (name: string, settings: object): Promise<void> => {
      const key = `rogue.${Buffer.from(name).toString("base64url")}`;
      const subject = rogue.subjects.change("identity", key);
      await jetstream(rogue.nats).publish(subject, JSON.stringify({ name, settings }));
    };
    await share("work", { provider: "github", host: "evil.example", email: "a@b.example" });
    await share("bad", { provider: "github", organizations: { not: "a list" } });
    await share("other", { provider: "github", host: "evil.example" });
    await until(async () => (await identityAt(a, "other")) !== undefined);
    const work = await identityAt(a);
    assert.deepEqual([work?.host, work?.email], ["github.com", "a@b.example"]);
    assert.equal((await identityAt(a, "other"))?.tokenSource.kind, "none");
    assert.equal(await identityAt(a, "bad"), undefined);
  });

  it("ends a person's logins at every gateway, wherever the person was revoked", async (test) => {
    const before = process.env["TRUNKLINE_TOKEN_STORE"];
    process.env["TRUNKLINE_TOKEN_STORE"] = "file";
    test.after(() => {
      if (before === undefined) delete process.env["TRUNKLINE_TOKEN_STORE"];
      else process.env["TRUNKLINE_TOKEN_STORE"] = before;
    });
    await using issuer = await SmallIssuer.open();
    await using fleet = await FleetOfApps.start();
    await using a = await fleet.node("a", {});
    const tokens = new AccessTokens(a.data);
    const grant = { scopes: ["tools"] } as const;
    const { token } = await tokens.create("ada-laptop", { ...grant, person: "ada" });
    await tokens.create("bob", { ...grant, person: "bob" });
    const logIn = async ({ data }: { readonly data: string }): Promise<ServerLogins> => {
      const logins = new ServerLogins({ data, env: process.env });
      const settings = { url: `${issuer.url}/mcp`, login: "each" } as const;
      for (const person of ["ada", "bob"]) {
        await logins.ofPerson(`${BEARER_PREFIX}${person}`, "mail", settings).write({
          ...{ server: settings.url, issuer: issuer.url, scopes: [] },
          ...{ tokenEndpoint: `${issuer.url}/token`, revocationEndpoint: `${issuer.url}/revoke` },
          ...{ client: { id: "c", method: "none" }, accessToken: `secret-of-${person}-${data}` },
        });
      }
      return logins;
    };
    const peopleOf = async (logins: ServerLogins): Promise<string[]> =>
      (await logins.listOf()).map(({ person }) => person).toSorted();
    const bob = [`${BEARER_PREFIX}bob`];
    let away: ServerLogins;
    {
      await using c = await fleet.node("c", {});
      await until(() => new AccessTokens(c.data).use(token) !== undefined);
      away = await logIn(c);
    }
    await using b = await fleet.node("b", {});
    await until(() => new AccessTokens(b.data).use(token) !== undefined);
    const logins = await logIn(b);
    await tokens.revoke("ada-laptop");
    await until(async () => isDeepStrictEqual(await peopleOf(logins), bob));
    assert.deepEqual(issuer.revoked, [`secret-of-ada-${b.data}`]);
    assert.equal((await peopleOf(away)).length, 2);
    {
      await using c = await fleet.node("c", {});
      await until(async () => isDeepStrictEqual(await peopleOf(away), bob));
      assert.equal(issuer.revoked.at(-1), `secret-of-ada-${c.data}`);
      // As if it had been killed when her token was gone and her login was not.
      await logIn(c);
    }
    await using c = await fleet.node("c", {});
    await until(async () => isDeepStrictEqual(await peopleOf(away), bob));
    assert.ok(c.data);
    assert.equal(isStored(fleet.nats.data, "secret-of-"), false);
    assert.ok(b.audit.some(({ event, by }) => event === "login-ended" && by === "fleet"));
  });

  it("puts no secret into NATS", async () => {
    await using fleet = await FleetOfApps.start();
    const more = {
      identities: { work: { provider: "github", user: "ada", sshKey: join(fleet.folder, "key") } },
    };
    writeFileSync(join(fleet.folder, "key"), KEY);
    await using a = await fleet.node("a", { x: ["x"] }, [], more);
    await using b = await fleet.node("b", {});
    const secrets = [KEY.split("\n")[1] ?? "", "ghp_0123456789abcdefghijklmnop", "hunter2-hunter2"];
    const owner = new OwnerToken(a.data);
    await owner.ensure();
    const tokens = new AccessTokens(a.data);
    const { token, kept } = await tokens.create("ci", { scopes: ["tools"] });
    secrets.push(owner.read() ?? "", token);
    const store = new EncryptedFile(join(a.data, "identity", "tokens.enc"), {
      env: {},
      keyFile: join(a.data, "identity", "key"),
    });
    await store.set({ service: "trunkline", account: "work" }, secrets[1] ?? "");
    secrets.push(readFileSync(join(a.data, "identity", "key"), "utf8").trim());
    await until(() => b.names.includes("x_do"));
    await b.call("x_do", { message: `${token} ${secrets[1]}`, password: secrets[2] });
    using reviews = await Reviews.open(a.data);
    await reviews.add({
      repository: { gitDir: "/r/.git", root: "/r" },
      anchor: { path: "a.txt", side: "new" },
      ...{ comment: "no secret at all", severity: "nit", by: "ada", source: "test" },
    });
    // What is no secret is there, so a secret would be found, too.
    const found = [kept.sha256, "no secret at all", '"user":"ada"', '"tool":"x_do"'];
    await until(() => found.every((text) => isStored(fleet.nats.data, text)));
    await until(() => new AccessTokens(b.data).use(token) !== undefined);
    for (const secret of secrets) {
      assert.ok(secret.length > 10);
      assert.equal(isStored(fleet.nats.data, secret), false, secret);
      const isBase64 = Buffer.from(secret).toString("base64").slice(4, -4);
      assert.equal(isStored(fleet.nats.data, isBase64), false, secret);
    }
  });
});

async function identityAt({ app, data }: AppNode, named = "work") {
  await using commands = await currentIdentities(app, data, { HOME: "/home/nobody" });
  return commands.identities.list.find(({ name }) => name === named);
}

function isStored(folder: string, text: string): boolean {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).some((entry) => {
    if (!entry.isFile()) return false;
    try {
      return readFileSync(join(entry.parentPath, entry.name)).includes(text);
    } catch {
      // The server has replaced it.
      return false;
    }
  });
}
