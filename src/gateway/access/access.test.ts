import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { describe, it } from "node:test";

import { Log } from "../../base/log.ts";
import { AccessTokens } from "../../store/access-tokens.ts";
import { SampleFolder } from "../../store/sample-folder.ts";
import { Access, type AccessOptions } from "./access.ts";
import type { Verdict } from "./jwt-verifier.ts";
import { sampleServing } from "./sample-serving.ts";

const OAUTH = {
  publicUrl: "https://tools.example.com",
  oauth: { authorizationServers: ["https://login.example.com"], scopes: ["use"] },
};

class Setup implements AsyncDisposable {
  readonly tokens: AccessTokens;
  readonly access: Access;
  readonly log: string[] = [];
  readonly verified: string[] = [];
  /** What is made of tokens that are not ours. */
  verdict: Verdict | Error = { kind: "invalid", why: "it is wrong" };
  readonly #folder: SampleFolder;

  private constructor(folder: SampleFolder, options: Partial<AccessOptions>) {
    this.#folder = folder;
    this.tokens = new AccessTokens(folder.path);
    const verify = async (token: string): Promise<Verdict> => {
      this.verified.push(token);
      if (this.verdict instanceof Error) throw this.verdict;
      return this.verdict;
    };
    this.access = new Access({
      serving: sampleServing("0.0.0.0", OAUTH),
      tokens: this.tokens,
      log: new Log("info", (line) => void this.log.push(line)),
      loadVerifier: async () => ({ verify }),
      ...options,
    });
  }

  static async create(options: Partial<AccessOptions> = {}): Promise<Setup> {
    return new Setup(await SampleFolder.create(), options);
  }

  async ask(authorization?: string, more: Record<string, string> = {}, address = "192.0.2.9") {
    const headers = { host: "127.0.0.1", authorization, ...more };
    const rawHeaders = authorization === undefined ? [] : ["Authorization", authorization];
    const socket = { remoteAddress: address };
    const request = { headers, rawHeaders, socket, url: "/mcp" } as unknown as IncomingMessage;
    const found = await this.access.admit(request);
    return "principal" in found
      ? { ...found, status: 200, headers: {} as OutgoingHttpHeaders }
      : found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tokens[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

describe("Access", () => {
  it("tells apart who came with which token, also with one of the same name", async () => {
    await using setup = await Setup.create();
    const first = await setup.tokens.create("laptop");
    const one = await setup.ask(`Bearer ${first.token}`);
    assert.ok("principal" in one && one.name === "laptop");
    await setup.tokens.revoke("laptop");
    assert.equal(one.isLive?.(), false);
    const second = await setup.tokens.create("laptop");
    const other = await setup.ask(`Bearer ${second.token}`);
    assert.ok("principal" in other && other.name === "laptop");
    assert.notEqual(one.principal, other.principal);
  });

  it("gives a signed token's bearer a name that no token of ours can have", async () => {
    await using setup = await Setup.create();
    const until = Date.now() + 60_000;
    setup.verdict = {
      kind: "valid",
      issuer: "https://login.example.com",
      subject: "laptop",
      until,
    };
    const found = await setup.ask("Bearer a.b.c");
    assert.ok("principal" in found && found.isLive?.() === true);
    assert.equal(found.name, "laptop@login.example.com");
    assert.equal(found.principal, "oauth https://login.example.com laptop");
    await assert.rejects(setup.tokens.create(found.name), { code: "usage" });
  });

  it("verifies the same token once in a while, not each time", async () => {
    await using setup = await Setup.create();
    const until = Date.now() + 60_000;
    setup.verdict = { kind: "valid", issuer: "https://login.example.com", subject: "a", until };
    for (let times = 0; times < 3; times++) await setup.ask("Bearer a.b.c");
    assert.deepEqual(setup.verified, ["a.b.c"]);
    // One that is about to expire is not believed for longer than it lasts.
    setup.verdict = { ...setup.verdict, until: Date.now() - 1 };
    for (let times = 0; times < 3; times++) await setup.ask("Bearer d.e.f");
    assert.equal(setup.verified.length, 4);
  });

  it("answers wrong tokens of one address with less and less work", async () => {
    await using setup = await Setup.create();
    const { token } = await setup.tokens.create("a");
    for (let times = 0; times < 20; times++) {
      assert.equal((await setup.ask("Bearer a.b.c")).status, 401);
    }
    const refused = await setup.ask("Bearer a.b.c");
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers?.["retry-after"]) > 0);
    assert.equal((await setup.ask("Bearer tlk_wrong")).status, 429);
    assert.equal(setup.verified.length, 20);
    // Others may be behind the same proxy: a good token is let in, and no token is no attempt.
    assert.equal((await setup.ask(`Bearer ${token}`)).status, 200);
    assert.equal((await setup.ask()).status, 401);
    assert.equal((await setup.ask("Bearer a.b.c", {}, "192.0.2.10")).status, 401);
    assert.equal(setup.log.length, 2, setup.log.join(""));
  });

  it("says what is missing, and where it is given out", async () => {
    await using setup = await Setup.create();
    const metadata = `resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp"`;
    const none = await setup.ask();
    const header = String(none.headers?.["www-authenticate"]);
    assert.equal(header, `Bearer realm="trunkline", scope="use", ${metadata}`);
    const wrong = await setup.ask("Bearer a.b.c");
    assert.match(String(wrong.headers?.["www-authenticate"]), /error="invalid_token"/);
    setup.verdict = { kind: "insufficient" };
    const poor = await setup.ask("Bearer a.b.c");
    assert.equal(poor.status, 403);
    const told = String(poor.headers?.["www-authenticate"]);
    assert.ok(told.includes(`error="insufficient_scope", scope="use", ${metadata}`), told);
  });

  it("lets nobody in while it cannot find out who they are, and says so once", async () => {
    await using setup = await Setup.create();
    setup.verdict = new Error("The issuer is down");
    const { token } = await setup.tokens.create("a");
    await writeFile(setup.tokens.path, "{");
    for (const authorization of ["Bearer a.b.c", `Bearer ${token}`, "Bearer a.b.c"]) {
      const refused = await setup.ask(authorization);
      assert.equal(refused.status, 503);
      assert.doesNotMatch(JSON.stringify(refused), /issuer|json/);
    }
    assert.equal(setup.log.length, 1);
    await writeFile(setup.tokens.path, `{"tokens":[]}`);
  });

  it("asks nothing of this machine, unless it shows a wrong token or speaks for others", async () => {
    const serving = sampleServing("127.0.0.1");
    await using setup = await Setup.create({ serving });
    assert.equal((await setup.ask()).status, 200);
    assert.equal((await setup.ask("Bearer tlk_wrong")).status, 401);
    assert.equal((await setup.ask("Basic eDp5")).status, 401);
    assert.equal((await setup.ask(undefined, { "x-forwarded-for": "203.0.113.1" })).status, 401);
    assert.equal((await setup.ask(undefined, { host: "tools.example.com" })).status, 401);
  });
});
