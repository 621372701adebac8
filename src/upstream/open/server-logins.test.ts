import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import type { SecretStore } from "../../store/secret/secret-store.ts";
import { Log } from "../../base/log.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { until } from "../../../test/support/until.ts";
import { SmallIssuer } from "../../../test/upstream/small-issuer.ts";
import { CONFIGURED_AUTHORIZATION } from "../http/http-exchange.ts";
import type { LogInOptions } from "../oauth/log-in.ts";
import { type Login, LoginTokens } from "../oauth/login-tokens.ts";
import { OAuthHttp } from "../oauth/oauth-http.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
import { logInTo, logOutOf } from "./reach-login.ts";
import { ServerLogins } from "./server-logins.ts";

const SERVER = new URL("https://mcp.example.com/mcp");
const LOGIN: Login = {
  server: SERVER.href,
  issuer: "https://login.example.com",
  tokenEndpoint: "https://login.example.com/token",
  client: { id: "c", secret: "client-s3cret", method: "client_secret_basic" },
  scopes: ["read"],
  accessToken: "access-s3cret",
  refreshToken: "refresh-s3cret",
};

function open(folder: SampleFolder): ServerLogins {
  const { path } = folder;
  const env = { TRUNKLINE_TOKEN_STORE: "file", HOME: join(path, "home") };
  return new ServerLogins({ data: join(path, "data"), env });
}

describe("ServerLogins", () => {
  it("are gone after a logout, also where one was being renewed", async () => {
    await using issuer = await SmallIssuer.open();
    await using folder = await SampleFolder.create();
    const [store, renewing] = [open(folder).of("work", SERVER), Promise.withResolvers<void>()];
    const refreshToken = issuer.giveRefreshToken();
    const endpoints = { issuer: issuer.url, tokenEndpoint: `${issuer.url}/token` };
    await store.write({ ...LOGIN, ...endpoints, refreshToken, expiresAt: 1 });
    issuer.hold = renewing.promise;
    const http = new OAuthHttp({ server: SERVER, trustsIssuer: true });
    const report = (): void => {};
    const token = new LoginTokens({ name: "work", store, http, report }).token();
    await until(() => issuer.grants.length === 1);
    const out = logOutOf({ store, http });
    await Promise.race([out, sleep(100)]);
    renewing.resolve();
    await Promise.all([out, token]);
    assert.equal(await store.read(), undefined);
  });

  it("are ended at their issuer where they cannot be stored", async () => {
    await using issuer = await SmallIssuer.open();
    await using folder = await SampleFolder.create();
    const tokens: string[] = [];
    issuer.given = (token) => void tokens.push(token);
    const server = new URL("/mcp", issuer.url);
    const data = join(folder.path, "data");
    const open = () => Promise.reject(new Error("the keychain is locked"));
    const logins = new ServerLogins({ data, env: {}, open });
    const reach = {
      ...{ name: "work", settings: { url: server.href }, store: logins.of("work", server) },
      ...{ http: new OAuthHttp({ server, trustsIssuer: true }), place: () => logins.place() },
    };
    const show = ({ link, paste }: Parameters<LogInOptions["show"]>[0]): void => {
      void issuer.browse(link).then(({ href }) => paste(href));
    };
    const says = /could not be stored, so it was ended there: the keychain is locked/;
    await assert.rejects(logInTo(reach, show), says);
    assert.equal(tokens.length, 1);
    assert.ok(issuer.revoked.includes(tokens[0] ?? ""));
  });

  it("give a login to the server of that name and address, and to no other", async () => {
    await using folder = await SampleFolder.create();
    await open(folder).of("work", SERVER).write(LOGIN);
    assert.deepEqual(await open(folder).of("work", SERVER).read(), LOGIN);
    for (const [name, url] of [
      ["work", "https://evil.example/mcp"],
      ["work", "https://mcp.example.com/other"],
      ["other", SERVER.href],
    ] as const) {
      assert.equal(await open(folder).of(name, new URL(url)).read(), undefined, `${name} ${url}`);
    }
  });

  it("keep their key beside the configuration, also if TRUNKLINE_CONFIG is a relative path", async () => {
    const env = { TRUNKLINE_TOKEN_STORE: "file", TRUNKLINE_CONFIG: "conf/mine.jsonc" };
    const keyFile = `whose key is in ${resolve("conf/token.key")}`;
    assert.ok((await new ServerLogins({ data: "/none", env }).place()).endsWith(keyFile));
    assert.ok((await openKeys("/none", env)()).describe.endsWith(keyFile));
  });

  it("leave no file of a lock in the data folder", async () => {
    await using folder = await SampleFolder.create();
    const store = open(folder).of("work", SERVER);
    await store.write(LOGIN);
    const data = join(folder.path, "data");
    const before = await readdir(data);
    await store.alone(async () => {
      assert.equal((await readdir(data)).length, before.length + 1);
    });
    assert.deepEqual(await readdir(data), before);
  });

  it("write no secret in clear, and what they write is private", async () => {
    await using folder = await SampleFolder.create();
    const store = open(folder).of("work", SERVER);
    await store.write(LOGIN);
    await store.want(["more"]);
    const data = join(folder.path, "data");
    for (const name of await readdir(data)) {
      const text = await readFile(join(data, name), "latin1");
      assert.ok(!text.includes("s3cret"), name);
      const { mode } = await stat(join(data, name));
      if (!name.endsWith(".lock")) assert.equal(mode & 0o77, 0, name);
    }
    const { issuer, scopes, isRenewed, wanted } = await store.state();
    assert.deepEqual(
      { issuer, scopes, isRenewed, wanted },
      {
        issuer: LOGIN.issuer,
        scopes: ["read"],
        isRenewed: true,
        wanted: ["more"],
      },
    );
  });

  it("look for no secret of a server that nobody has logged in to", async () => {
    await using folder = await SampleFolder.create();
    const logins = new ServerLogins({ data: folder.path, env: {}, open: () => assert.fail() });
    assert.equal(await logins.of("work", SERVER).read(), undefined);
  });

  it("forget a login, and say whether there was one", async () => {
    await using folder = await SampleFolder.create();
    const store = open(folder).of("work", SERVER);
    assert.equal(await store.remove(), false);
    await store.write(LOGIN);
    assert.equal(await store.remove(), true);
    assert.equal(await store.read(), undefined);
    assert.deepEqual(await store.state(), {});
  });

  it("take a damaged secret for none, and quote nothing of it", async () => {
    await using folder = await SampleFolder.create();
    await open(folder).of("work", SERVER).write(LOGIN);
    const secrets: SecretStore = {
      kind: "keychain",
      describe: "a keychain that cuts secrets off",
      get: async () => JSON.stringify(LOGIN).slice(0, -5),
      set: () => assert.fail(),
      remove: () => assert.fail(),
    };
    const data = join(folder.path, "data");
    const logins = new ServerLogins({ data, env: {}, open: async () => secrets });
    assert.equal(await logins.of("work", SERVER).read(), undefined);
  });

  it("note no end of scopes for a server that names others each time", async () => {
    await using folder = await SampleFolder.create();
    const store = open(folder).of("work", SERVER);
    await store.want(["a", "x".repeat(10_000)]);
    assert.deepEqual((await store.state()).wanted, ["a"]);
    await store.want(Array.from({ length: 200 }, (_, index) => `scope ${index}`));
    const stamp = store.stamp();
    await store.want(["b"]);
    assert.equal(store.stamp(), stamp, "processes that follow the file try no server again");
    assert.equal((await store.state()).wanted?.length, 100);
  });

  it("leave alone a server whose header is configured", async () => {
    await using folder = await SampleFolder.create();
    const settings = { url: SERVER.href, headers: { AUTHORIZATION: "Bearer x" } };
    const tokens = open(folder).tokensFor("work", settings, new Log("error"));
    assert.equal(tokens, CONFIGURED_AUTHORIZATION);
  });
});
