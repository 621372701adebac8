import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { describe, it } from "node:test";

import { Log } from "../../base/log.ts";
import { OWNER } from "../../base/principal.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { Devices } from "../../store/access/devices.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { accessBy, type AccessOptions } from "./access.ts";
import { browserLogins, type BrowserLogins } from "./browser-logins.ts";
import type { Verdict } from "./jwt-verifier.ts";
import { sampleServing } from "../../../test/samples/sample-serving.ts";
import { verifiedBy } from "./verifications.ts";

const TOOLS = { scopes: ["tools"] } as const;

const OAUTH = {
  publicUrl: "https://tools.example.com",
  oauth: { authorizationServers: ["https://login.example.com"], scopes: ["use"] },
};

class Setup implements AsyncDisposable {
  readonly tokens: AccessTokens;
  readonly owner: OwnerToken;
  readonly logins: BrowserLogins;
  readonly access: ReturnType<typeof accessBy>;
  readonly log: string[] = [];
  readonly verified: string[] = [];
  /** What is made of tokens that are not ours. */
  verdict: Verdict | Error = { kind: "invalid", why: "it is wrong" };
  readonly #folder: SampleFolder;

  private constructor(folder: SampleFolder, options: Partial<AccessOptions>) {
    this.#folder = folder;
    this.tokens = new AccessTokens(folder.path);
    this.owner = new OwnerToken(folder.path);
    const own = () => ({ scheme: "http", port: 4180 }) as const;
    this.logins = browserLogins({
      owner: this.owner,
      devices: new Devices(folder.path),
      own,
      publicOrigin: undefined,
      proxied: new Set(),
    });
    const verify = async (token: string): Promise<Verdict> => {
      this.verified.push(token);
      if (this.verdict instanceof Error) throw this.verdict;
      return this.verdict;
    };
    this.access = accessBy({
      serving: sampleServing("0.0.0.0", OAUTH),
      tokens: this.tokens,
      owner: this.owner,
      logins: this.logins,
      log: new Log("info", (line) => void this.log.push(line)),
      verifications: verifiedBy({ load: async () => ({ verify }) }),
      ...options,
    });
  }

  static async create(options: Partial<AccessOptions> = {}): Promise<Setup> {
    return new Setup(await SampleFolder.create(), options);
  }

  async ask(authorization?: string, more: Record<string, string> = {}, address = "192.0.2.9") {
    const headers = { host: "127.0.0.1", authorization, ...more };
    const socket = { remoteAddress: address };
    const request = { headers, socket, url: "/mcp", method: "GET" } as unknown as IncomingMessage;
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
  it("distinguishes callers by their tokens, even if the names are equal", async () => {
    await using setup = await Setup.create();
    const first = await setup.tokens.create("laptop", TOOLS);
    const one = await setup.ask(`Bearer ${first.token}`);
    assert.ok("principal" in one && one.principal.name === "laptop");
    await setup.tokens.revoke("laptop");
    assert.equal(one.proof?.isLive(), false);
    const second = await setup.tokens.create("laptop", TOOLS);
    const other = await setup.ask(`Bearer ${second.token}`);
    assert.ok("principal" in other && other.principal.name === "laptop");
    assert.notEqual(one.principal.id, other.principal.id);
  });

  it("gives the bearer of a token the profile that it was made with", async () => {
    await using setup = await Setup.create();
    const { token } = await setup.tokens.create("bot", { ...TOOLS, profile: "reading" });
    const admitted = await setup.ask(`Bearer ${token}`);
    assert.ok("principal" in admitted && admitted.principal.profile === "reading");
  });

  it("gives the bearer of a signed token a name that no token of ours can have", async () => {
    await using setup = await Setup.create();
    const until = Date.now() + 60_000;
    setup.verdict = {
      kind: "valid",
      issuer: "https://login.example.com",
      subject: "laptop",
      until,
    };
    const found = await setup.ask("Bearer a.b.c");
    assert.ok("principal" in found && found.proof?.isLive() === true);
    assert.equal(found.principal.name, "laptop@login.example.com");
    assert.equal(found.principal.id, "oauth https://login.example.com laptop");
    await assert.rejects(setup.tokens.create(found.principal.name, TOOLS), { code: "usage" });
  });

  it("caches the verification of a token for a while", async () => {
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

  it("refuses further wrong tokens from an address, but no valid token from there", async () => {
    await using setup = await Setup.create();
    const { token } = await setup.tokens.create("a", TOOLS);
    for (let times = 0; times < 20; times++) {
      assert.equal((await setup.ask(`Bearer a.b.${times}`)).status, 401);
    }
    const refused = await setup.ask("Bearer a.b.c");
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers?.["retry-after"]) > 0);
    assert.equal((await setup.ask("Bearer tlk_wrong")).status, 429);
    // The same wrong token again and again is looked at once.
    await setup.ask("Bearer a.b.c");
    assert.equal(setup.verified.length, 21);
    // Others may be behind the same proxy: a good token is let in, and no token is no attempt.
    assert.equal((await setup.ask(`Bearer ${token}`)).status, 200);
    assert.equal((await setup.ask()).status, 401);
    assert.equal((await setup.ask("Bearer a.b.c", {}, "192.0.2.10")).status, 401);
    const until = Date.now() + 60_000;
    setup.verdict = { kind: "valid", issuer: "https://login.example.com", subject: "a", until };
    assert.equal((await setup.ask("Bearer g.o.od")).status, 200);
    assert.equal(setup.log.length, 2, setup.log.join(""));
  });

  it("names the missing scope, and the authorization server", async () => {
    await using setup = await Setup.create();
    const metadata = `resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp"`;
    const none = await setup.ask();
    const header = String(none.headers?.["www-authenticate"]);
    assert.equal(header, `Bearer realm="trunkline", scope="use", ${metadata}`);
    const wrong = await setup.ask("Bearer a.b.c");
    assert.match(String(wrong.headers?.["www-authenticate"]), /error="invalid_token"/);
    setup.verdict = { kind: "insufficient" };
    const poor = await setup.ask("Bearer d.e.f");
    assert.equal(poor.status, 403);
    const told = String(poor.headers?.["www-authenticate"]);
    assert.ok(told.includes(`error="insufficient_scope", scope="use", ${metadata}`), told);
  });

  it("lets nobody in while tokens cannot be checked, and reports that once", async () => {
    await using setup = await Setup.create();
    setup.verdict = new Error("The issuer is down");
    const { token } = await setup.tokens.create("a", TOOLS);
    await writeFile(setup.tokens.path, "{");
    for (const authorization of ["Bearer a.b.c", `Bearer ${token}`, "Bearer a.b.c"]) {
      const refused = await setup.ask(authorization);
      assert.equal(refused.status, 503);
      assert.doesNotMatch(JSON.stringify(refused), /issuer|json/);
    }
    assert.equal(setup.log.length, 1);
    await writeFile(setup.tokens.path, `{"tokens":[]}`);
  });

  it("requires a proof from everybody, also on this machine", async () => {
    const serving = sampleServing("127.0.0.1");
    await using setup = await Setup.create({ serving });
    await setup.owner.ensure();
    assert.equal((await setup.ask()).status, 401);
    assert.equal((await setup.ask("Bearer tlk_wrong")).status, 401);
    const owner = await setup.ask(`Bearer ${setup.owner.read()}`);
    assert.ok("principal" in owner && owner.principal === OWNER);
    await setup.owner.rotate();
    assert.equal(owner.proof?.isLive(), false);
    assert.equal(owner.standing?.isLive(), false);
  });

  it("recognises the owner's browser by its cookie, from its own page and until it expires", async () => {
    await using setup = await Setup.create({ serving: sampleServing("127.0.0.1") });
    await setup.owner.ensure();
    const login = { headers: { host: "127.0.0.1:4180" }, socket: {} } as IncomingMessage;
    const header = await setup.logins.begin(login);
    assert.match(header, /; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/);
    const cookie = `other=1; ${header.split(";")[0]}; more=2`;
    const host = "127.0.0.1:4180";
    const found = await setup.ask(undefined, { host, cookie });
    assert.ok("principal" in found && found.principal === OWNER);
    for (const wrong of [
      { host, cookie: `${cookie}x`.replace("; more=2x", "x") },
      { host: "localhost", cookie: cookie.replace("4180", "4181") },
      { host, cookie, origin: "http://127.0.0.1:5173" },
      // It was made for a name of this machine, and counts under no other.
      { host: "tools.example.com", cookie },
    ]) {
      assert.equal((await setup.ask(undefined, wrong)).status, 401, JSON.stringify(wrong));
    }
    await setup.owner.rotate();
    assert.equal(found.proof?.isLive(), false);
    assert.equal((await setup.ask(undefined, { host, cookie })).status, 401);
  });

  it("lets local programs in with --no-auth, with fewer rights than the owner", async () => {
    const serving = sampleServing("127.0.0.1", {}, { noAuth: true });
    await using setup = await Setup.create({ serving });
    const anyone = await setup.ask();
    assert.ok("principal" in anyone);
    assert.deepEqual(anyone.principal.scopes, ["tools", "sessions", "review", "dashboard"]);
    assert.equal((await setup.ask("Bearer tlk_wrong")).status, 401);
    assert.equal((await setup.ask(undefined, { "x-forwarded-for": "203.0.113.1" })).status, 401);
    assert.equal((await setup.ask(undefined, { host: "tools.example.com" })).status, 401);
  });
});
