// Long: gateways and issuers for several people.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { bearer, type GuardedGateway, GuardedHome } from "../support/guarded-gateway.ts";
import { allAsOtherUser, noOtherUser } from "../support/other-user.ts";
import { until } from "../support/until.ts";
import { PersonalServer } from "../upstream/personal-server.ts";
import { SmallIssuer } from "../upstream/small-issuer.ts";

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

interface Said {
  readonly status: number;
  readonly link?: string;
  readonly error?: string;
  readonly who?: string;
}

/** A gateway with a server that each person uses with a login of their own. */
async function rig(config: object = {}) {
  const ending = new AsyncDisposableStack();
  const issuer = ending.use(await SmallIssuer.open());
  const server = ending.use(await PersonalServer.open(issuer.url));
  const home = ending.use(
    new GuardedHome({ mcpServers: { mail: { url: server.url, login: "each" } }, ...config }),
  );
  const tokens = {
    ada: await home.createToken("ada"),
    mallory: await home.createToken("mallory"),
  };
  const gateway = ending.use(await home.serve());
  return { ending, issuer, server, home, tokens, gateway };
}

/** A browser on the login page. */
class Browser {
  readonly #gateway: GuardedGateway;
  cookie = "";

  constructor(gateway: GuardedGateway) {
    this.#gateway = gateway;
  }

  async post(path: string, body: object = {}, more: object = {}): Promise<Said> {
    const headers = { cookie: this.cookie, "sec-fetch-site": "same-origin", ...more };
    const answered = await this.#gateway.post(body, headers, `/logins/${path}`);
    const [cookie] = answered.headers["set-cookie"] ?? [];
    if (cookie !== undefined) this.cookie = cookie.split(";")[0] ?? "";
    return { ...(JSON.parse(answered.body) as object), status: answered.status };
  }

  static async of(gateway: GuardedGateway, token: string): Promise<Browser> {
    const browser = new Browser(gateway);
    assert.equal((await browser.post("enter", {}, bearer(token))).status, 200);
    return browser;
  }
}

describe("a login of each person, attacked", { timeout: 600_000 }, () => {
  it("comes back to the gateway only, whatever `Host` says", async () => {
    const { ending, tokens, gateway } = await rig();
    await using _ = ending;
    const at = new Browser(gateway);
    // A port of somebody else, who would get the code of whoever opens the link.
    for (const host of [
      "127.0.0.1:9999",
      "localhost:1",
      `127.9.9.9:${gateway.port}`,
      "127.0.0.1",
    ]) {
      const said = await at.post("begin", { server: "mail" }, { host, ...bearer(tokens.mallory) });
      assert.equal(said.status, 403, host);
      assert.match(said.error ?? "", /Cannot log in at '.*': it may be another's/);
    }
    for (const host of [gateway.authority, `localhost:${gateway.port}`]) {
      const said = await at.post("begin", { server: "mail" }, { host, ...bearer(tokens.mallory) });
      const back = new URL(said.link ?? "").searchParams.get("redirect_uri");
      assert.equal(back, `http://${host}/logins/callback`);
    }
  });

  it("cannot be used by another user who has got the cookie", { skip: noOtherUser }, async () => {
    const { ending, tokens, gateway } = await rig();
    await using _ = ending;
    const { cookie } = await Browser.of(gateway, tokens.ada);
    const [said] = await allAsOtherUser([
      {
        ...{ port: gateway.port, method: "POST", path: "/logins/list", body: {} },
        headers: {
          ...{ host: gateway.authority, cookie, "sec-fetch-site": "same-origin" },
          "content-type": "application/json",
        },
      },
    ]);
    assert.equal(said?.status, 401);
  });

  it("is not finished after the person's token was revoked", async () => {
    const { ending, issuer, home, tokens, gateway } = await rig();
    await using _ = ending;
    const hers = await Browser.of(gateway, tokens.ada);
    const { link = "" } = await hers.post("begin", { server: "mail" });
    const { search } = await issuer.browse(link);
    await home.runInProcess("token", "revoke", "ada");
    assert.equal((await hers.post("finish", { search })).status, 403);
    assert.equal(issuer.grants.length, 0);
    assert.throws(() => readFileSync(join(home.data, "logins.json")), { code: "ENOENT" });
  });

  it("is counted before its issuer has answered", async () => {
    const { ending, issuer, tokens, gateway } = await rig();
    await using _ = ending;
    const answering = Promise.withResolvers<void>();
    issuer.slow = answering.promise;
    const browser = await Browser.of(gateway, tokens.mallory);
    const begun = Array.from({ length: 20 }, () => browser.post("begin", { server: "mail" }));
    const asked = (): number => issuer.requests.length;
    await until(() => asked() >= 20);
    const refused = await browser.post("begin", { server: "mail" });
    assert.match(refused.error ?? "", /20 logins are being begun already\. Wait, then try again/);
    assert.equal(asked(), 20);
    answering.resolve();
    for (const { status } of await Promise.all(begun)) assert.equal(status, 200);
    assert.equal((await browser.post("begin", { server: "mail" })).status, 200);
  });

  it("is nobody else's over TLS, whatever cookie another host has set", async () => {
    const publicUrl = "https://tools.example.com";
    const { ending, tokens, gateway } = await rig({ serve: { publicUrl } });
    await using _ = ending;
    const tls = { host: "tools.example.com", origin: publicUrl };
    const theirs = new Browser(gateway);
    assert.equal(
      (await theirs.post("enter", {}, { ...tls, ...bearer(tokens.mallory) })).status,
      200,
    );
    assert.match(theirs.cookie, /^__Host-trunkline_person_/);
    assert.equal((await theirs.post("list", {}, tls)).who, "mallory");
    const hers = new Browser(gateway);
    hers.cookie = theirs.cookie.replace("__Host-", "");
    assert.equal((await hers.post("begin", { server: "mail" }, tls)).status, 401);
  });

  it("is not displaced by what others begin", async () => {
    const { ending, issuer, tokens, gateway } = await rig();
    await using _ = ending;
    const hers = await Browser.of(gateway, tokens.ada);
    const { link = "" } = await hers.post("begin", { server: "mail" });
    const { search } = await issuer.browse(link);
    const theirs = await Browser.of(gateway, tokens.mallory);
    for (let count = 0; count < 101; count++) await Browser.of(gateway, tokens.mallory);
    for (let count = 0; count < 101; count++) {
      await theirs.post("begin", { server: "mail" }, bearer(tokens.mallory));
    }
    assert.equal((await hers.post("list")).who, "ada");
    assert.equal((await hers.post("finish", { search })).status, 200);
  });

  it("is listed and ended by the owner once its person has left, and the audit has it", async () => {
    const { ending, issuer, server, home, tokens, gateway } = await rig();
    await using _ = ending;
    issuer.given = (token) => server.people.set(token, "someone");
    for (const token of [tokens.ada, tokens.mallory]) {
      const browser = await Browser.of(gateway, token);
      const { link = "" } = await browser.post("begin", { server: "mail" });
      const { search } = await issuer.browse(link);
      assert.equal((await browser.post("finish", { search })).status, 200);
    }
    const ask = (method: string, params: object, token: string, more: object) => {
      const body = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: META } };
      const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method };
      return gateway.post(body, { ...headers, ...bearer(token), ...more });
    };
    const call = (token: string) =>
      ask("tools/call", { name: "work", arguments: {} }, token, { "mcp-name": "work" });
    for (const token of [tokens.ada, tokens.mallory]) {
      await until(async () => (await ask("tools/list", {}, token, {})).body.includes('"work"'));
      assert.match((await call(token)).body, /done for someone/);
    }
    const { logins } = JSON.parse((await home.run("server", "list", "--people", "--json")).out);
    assert.equal(logins.length, 2);
    const { tokens: kept } = JSON.parse((await home.runInProcess("token", "list", "--json")).out);
    const ada = kept.find(({ name }: { name: string }) => name === "ada").id;
    const listed = logins.map(
      ({ person = "", server: name = "" }: Record<string, string>) => person + name,
    );
    assert.ok(listed.includes(`token ${ada}mail`), listed.join());
    const wrong = await home.run("server", "logout", "--person", "eve");
    assert.match(wrong.err, /no login of 'eve'\. Who has logins: [^,]+, [^,]+\./);
    const done = await home.run("server", "logout", "--person", ada);
    assert.equal(done.code, 0, done.err);
    assert.equal(issuer.revoked.length, 2);
    assert.match((await call(tokens.ada)).body, /wants to know who you are/);
    assert.match((await call(tokens.mallory)).body, /done for someone/);
    const audit = await home.runInProcess("audit", "search", "login-ended", "--json");
    assert.match(audit.out, /"person": "token [^"]+",\s+"server": "mail",\s+"by": "owner"/);
  });

  it("is not for a token that may not use such servers, whosever it is", async () => {
    const { ending, home, gateway } = await rig();
    await using _ = ending;
    const person = ["--person", "ada-too"];
    const whole = await home.createToken("whole", ...person);
    const placed = await home.createToken("placed", ...person, "--folder", home.path);
    const statuses = [whole, placed].map(async (token) => {
      return (await (await Browser.of(gateway, token)).post("begin", { server: "mail" })).status;
    });
    assert.deepEqual(await Promise.all(statuses), [200, 404]);
  });

  it("is answered also where the configuration cannot be read", async () => {
    const { ending, home, tokens, gateway } = await rig();
    await using _ = ending;
    home.write("config.jsonc", "{{{");
    const stranger = new Browser(gateway);
    assert.equal((await stranger.post("finish", { search: "?state=x" })).status, 403);
    const { status, error = "" } = await stranger.post("list", {}, bearer(tokens.ada));
    assert.equal(status, 400);
    assert.match(error, /config\.jsonc/);
  });

  it("does not keep a gateway that is to end", async () => {
    const { ending, tokens, gateway } = await rig();
    const hers = await Browser.of(gateway, tokens.ada);
    assert.equal((await hers.post("begin", { server: "mail" })).status, 200);
    const from = performance.now();
    await ending.disposeAsync();
    assert.ok(performance.now() - from < 300_000);
  });
});
