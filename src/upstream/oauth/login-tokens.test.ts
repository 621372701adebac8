import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { until } from "../../../test/support/until.ts";
import { SmallIssuer } from "../../../test/upstream/small-issuer.ts";
import { ServerLogins } from "../open/server-logins.ts";
import { type Login, type LoginStore, LoginTokens } from "./login-tokens.ts";
import { OAuthHttp } from "./oauth-http.ts";

/** A person's logins in a folder, as each process opens them. */
class Rig implements AsyncDisposable {
  readonly issuer: SmallIssuer;
  readonly #folder: SampleFolder;

  private constructor(issuer: SmallIssuer, folder: SampleFolder) {
    this.issuer = issuer;
    this.#folder = folder;
  }

  static async open(): Promise<Rig> {
    return new Rig(await SmallIssuer.open(), await SampleFolder.create());
  }

  store(): LoginStore {
    const { path } = this.#folder;
    const env = { TRUNKLINE_TOKEN_STORE: "file", HOME: path };
    return new ServerLogins({ data: path, env }).of("work", this.#server);
  }

  get folder(): string {
    return this.#folder.path;
  }

  tokens(report: (event: string) => void = () => assert.fail()): LoginTokens {
    const http = new OAuthHttp({ server: this.#server, trustsIssuer: false });
    return new LoginTokens({ name: "work", store: this.store(), http, report });
  }

  /** Stores a login whose token has ended, unless a test says otherwise. */
  async logIn(more: Partial<Login> = {}): Promise<void> {
    await this.store().write({
      server: this.#server.href,
      issuer: this.issuer.url,
      tokenEndpoint: `${this.issuer.url}/token`,
      client: { id: "c", method: "none" },
      scopes: ["read"],
      accessToken: "old",
      expiresAt: Date.now() - 1,
      refreshToken: this.issuer.giveRefreshToken(),
      ...more,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.issuer[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }

  get #server(): URL {
    return new URL("http://127.0.0.1:1/mcp");
  }
}

/** Runs work while there is no room for secrets. Locks need none. */
async function withFullDisk<T>(folder: string, work: () => Promise<T>): Promise<T> {
  using disk = new DiskFaults(folder);
  // What is to replace the file of secrets.
  disk.decide = ({ path }) => (/logins\.enc\.(?!lock)/.test(path) ? "ENOSPC" : undefined);
  return await work();
}

const NEVER = { expiresAt: Date.now() + 3_600_000 };
const UNAUTHORIZED = { status: 401, challenge: undefined } as const;

describe("LoginTokens", () => {
  it("has no token without a login, and says how to get one", async () => {
    await using rig = await Rig.open();
    assert.equal(await rig.tokens().token(), undefined);
    assert.deepEqual(await rig.tokens().refused({ ...UNAUTHORIZED, token: undefined }), {
      why: "wants a login (401). Run `trunkline server login work`",
    });
  });

  it("renews a token that has ended once, whoever else needs it at the same time", async () => {
    await using rig = await Rig.open();
    await rig.logIn();
    const held = Promise.withResolvers<void>();
    rig.issuer.hold = held.promise;
    const asked = [rig.tokens(), rig.tokens(), rig.tokens()].map(async (each) => each.token());
    await until(() => rig.issuer.grants.length > 0);
    held.resolve();
    const tokens = await Promise.all(asked);
    assert.equal(new Set(tokens).size, 1);
    assert.match(String(tokens[0]), /^at-1-/);
    assert.equal(rig.issuer.grants.length, 1);
    assert.equal(rig.issuer.grants[0]?.get("scope"), "read");
  });

  it("renews a token that the server refuses, and gives up if it refuses the new one", async () => {
    await using rig = await Rig.open();
    await rig.logIn(NEVER);
    const tokens = rig.tokens();
    assert.equal(await tokens.token(), "old");
    const next = await tokens.refused({ ...UNAUTHORIZED, token: "old" });
    assert.ok("token" in next && next.token.startsWith("at-1-"));
    assert.equal(tokens.token(), next.token, "the next request needs no promise");
    assert.equal(rig.issuer.grants.length, 1);
  });

  it("renews a refused token also while another request reads the login", async () => {
    await using rig = await Rig.open();
    await rig.logIn(NEVER);
    const tokens = rig.tokens();
    const other = tokens.token();
    const refusals = ["old", "old"].map((token) => tokens.refused({ ...UNAUTHORIZED, token }));
    for (const next of await Promise.all(refusals)) {
      assert.ok("token" in next && next.token.startsWith("at-1-"), JSON.stringify(next));
    }
    assert.equal(await other, "old");
    assert.equal(rig.issuer.grants.length, 1);
  });

  it("says that a login has ended, and asks the issuer no more", async () => {
    await using rig = await Rig.open();
    await rig.logIn({ refreshToken: "spent" });
    const tokens = rig.tokens();
    assert.equal(await tokens.token(), undefined);
    const next = await tokens.refused({ ...UNAUTHORIZED, token: undefined });
    assert.deepEqual(next, {
      why:
        "wants a new login: the last has ended (invalid_grant: it was used before). " +
        "Run `trunkline server login work`",
    });
    await rig.tokens().token();
    assert.equal(rig.issuer.grants.length, 1);
    assert.deepEqual((await rig.store().state()).wanted, ["read"]);
  });

  it("keeps a login that cannot be renewed now", async () => {
    await using rig = await Rig.open();
    await rig.logIn({ tokenEndpoint: `${rig.issuer.url}/broken` });
    const why = /^TrunklineError: http:\S+ did not renew your login: it answered 404, and not/;
    await assert.rejects(Promise.resolve(rig.tokens().token()), why);
    assert.equal((await rig.store().read())?.accessToken, "old");
  });

  it("keeps a renewed login that the disk has no room for, and stores it once there is", async () => {
    await using rig = await Rig.open();
    await rig.logIn();
    const reports: string[] = [];
    const tokens = rig.tokens((event) => reports.push(event));
    const first = await withFullDisk(rig.folder, async () => tokens.token());
    assert.match(String(first), /^at-1-/);
    assert.deepEqual(reports, ["upstream.login-not-stored"]);
    assert.equal((await rig.store().read())?.accessToken, "old");
    // The refresh token that is stored is spent: the renewal takes the one that is not.
    const next = await tokens.refused({ ...UNAUTHORIZED, token: String(first) });
    assert.ok("token" in next && next.token.startsWith("at-2-"), JSON.stringify(next));
    assert.equal((await rig.store().read())?.accessToken, next.token);
  });

  it("stores a renewed login as soon as another process has changed what is stored", async () => {
    await using rig = await Rig.open();
    await rig.logIn();
    const tokens = rig.tokens(() => {});
    const first = await withFullDisk(rig.folder, async () => tokens.token());
    await rig.store().want(["more"]);
    assert.equal(await tokens.token(), first);
    assert.equal((await rig.store().read())?.accessToken, first);
    assert.equal(rig.issuer.grants.length, 1);
  });

  it("prefers a new login of the person to a renewed one that could not be stored", async () => {
    await using rig = await Rig.open();
    await rig.logIn();
    const tokens = rig.tokens(() => {});
    await withFullDisk(rig.folder, async () => tokens.token());
    await rig.logIn({ ...NEVER, accessToken: "new" });
    assert.equal(await tokens.token(), "new");
    assert.equal((await rig.store().read())?.accessToken, "new");
  });

  it("notices a logout and a login of another process", async () => {
    await using rig = await Rig.open();
    await rig.logIn(NEVER);
    const tokens = rig.tokens();
    assert.equal(await tokens.token(), "old");
    await rig.store().remove();
    assert.equal(await tokens.token(), undefined);
    await rig.logIn({ ...NEVER, accessToken: "new" });
    assert.equal(await tokens.token(), "new");
  });

  it("asks for a login with the union of the scopes, once for all that is missing", async () => {
    await using rig = await Rig.open();
    await rig.logIn(NEVER);
    const challenge = 'Bearer error="insufficient_scope", scope="write admin read"';
    const next = await rig.tokens().refused({ status: 403, challenge, token: "old" });
    assert.deepEqual(next, {
      why:
        "wants the scope write admin (403). Log in again with `trunkline server login work`, then " +
        "repeat this",
    });
    assert.deepEqual((await rig.store().state()).wanted, ["read", "write", "admin"]);
    assert.equal(rig.issuer.grants.length, 0);
    await rig.logIn({ ...NEVER, scopes: ["read", "write", "admin"] });
    assert.equal((await rig.store().state()).wanted, undefined);
  });
});
