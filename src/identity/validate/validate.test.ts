import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";

import { SampleKeychain } from "../../../test/samples/sample-keychain.ts";
import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { type IdentitySettings, resolveIdentity } from "../identity.ts";
import { openTokens } from "../tokens/tokens.ts";
import {
  type ValidationFinding,
  validateIdentity,
  type ValidateOptions,
  validationSummary,
} from "./validate.ts";

const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
const DAY = 24 * 60 * 60_000;

/** A home with an `ssh` that greets everybody as ada, and a keychain with a token. */
class Rig extends SampleRepository {
  readonly tokens = openTokens({
    data: join(this.home, "data"),
    configFolder: this.home,
    env: {},
    openKeychain: async () => new SampleKeychain(),
  });

  constructor() {
    super();
    const greeting = "Hi ada! You've successfully authenticated";
    chmodSync(this.write("bin/ssh", `#!/bin/sh\necho "${greeting}"\nexit 1\n`), 0o755);
    this.env.PATH = `${join(this.home, "bin")}:${this.env.PATH}`;
  }

  async outcomes(settings: Partial<IdentitySettings>, more: Partial<ValidateOptions> = {}) {
    const base = { provider: "github", user: "ada" } as const;
    const identity = resolveIdentity("work", { ...base, ...settings }, this.env);
    const { env, tokens } = this;
    const { isOk, findings } = await validateIdentity(identity, { env, tokens, ...more });
    return { isOk, found: findings.map(({ what, outcome }) => `${what} ${outcome}`) };
  }

  async save(expires?: string): Promise<void> {
    const identity = resolveIdentity("work", { provider: "github", user: "ada" });
    await this.tokens.save(identity, TOKEN, expires === undefined ? {} : { expires });
  }
}

function forgeSays(t: TestContext, login: string, left?: number): void {
  const at = left === undefined ? undefined : new Date(Date.now() + left).toISOString();
  const headers = at === undefined ? {} : { "github-authentication-token-expiration": at };
  t.mock.method(globalThis, "fetch", async () => Response.json({ login }, { headers }));
}

describe("validateIdentity()", () => {
  it("requires a key file that exists and is closed to others", async () => {
    using rig = new Rig();
    const settings = { sshKey: "~/key", tokenSource: { kind: "none" } } as const;
    const missing = await rig.outcomes(settings);
    assert.deepEqual(missing, { isOk: false, found: ["ssh-key fail", "ssh pass", "token skip"] });
    chmodSync(rig.write("key", "x"), 0o644);
    assert.equal((await rig.outcomes(settings)).found[0], "ssh-key fail");
    chmodSync(join(rig.home, "key"), 0o600);
    assert.deepEqual((await rig.outcomes(settings)).isOk, true);
  });

  it("fails if ssh logs in as somebody else", async () => {
    using rig = new Rig();
    const settings = { user: "bob", tokenSource: { kind: "none" } } as const;
    assert.deepEqual((await rig.outcomes(settings)).found[1], "ssh fail");
  });

  it("connects to nothing with --offline", async (t) => {
    using rig = new Rig();
    t.mock.method(globalThis, "fetch", () => assert.fail("the forge was asked"));
    await rig.save();
    const { found } = await rig.outcomes({}, { offline: true });
    assert.deepEqual(found, ["ssh-key skip", "ssh skip", "token pass", "api skip"]);
  });

  it("logs in over SSH although the forge is not to be asked about the token", async (t) => {
    using rig = new Rig();
    t.mock.method(globalThis, "fetch", () => assert.fail("the forge was asked"));
    await rig.save();
    const { found } = await rig.outcomes({}, { testAuth: false });
    assert.deepEqual(found, ["ssh-key skip", "ssh pass", "token pass", "api skip"]);
  });

  it("warns about a token that is missing, or expires within two weeks", async (t) => {
    using rig = new Rig();
    forgeSays(t, "ada", 13 * DAY);
    assert.deepEqual((await rig.outcomes({})).found.slice(2), ["token warn"]);
    await rig.save();
    const { isOk, found } = await rig.outcomes({});
    assert.ok(isOk);
    assert.deepEqual(found.slice(2), ["token pass", "api pass", "token warn"]);
    t.mock.restoreAll();
    forgeSays(t, "ada", 15 * DAY);
    assert.equal((await rig.outcomes({})).found.at(-1), "token pass");
  });

  it("fails for an expired token, and for one of somebody else", async (t) => {
    using rig = new Rig();
    forgeSays(t, "mallory");
    await rig.save("2020-01-01T00:00:00Z");
    assert.deepEqual((await rig.outcomes({})).found.slice(2), ["token fail"]);
    await rig.save();
    assert.deepEqual((await rig.outcomes({})).found.slice(2), ["token pass", "api fail"]);
  });
});

describe("validationSummary()", () => {
  const summary = (
    ...found: readonly (readonly [ValidationFinding["what"], ValidationFinding["outcome"]])[]
  ) => {
    const findings = found.map(([what, outcome]) => ({ what, outcome, says: "" }));
    return validationSummary({ identity: "x", isOk: true, findings });
  };

  it("calls only that passed which was tried", () => {
    assert.equal(
      summary(["ssh-key", "pass"], ["ssh", "skip"], ["token", "pass"], ["token", "warn"]),
      "Validation passed: SSH key file, stored token. To look at: stored token. Not tried: SSH login.",
    );
    assert.equal(
      summary(["ssh-key", "skip"], ["ssh", "skip"]),
      "Nothing was validated. Not tried: SSH key file, SSH login.",
    );
    assert.equal(
      summary(["ssh", "pass"], ["token", "pass"], ["token", "fail"]),
      "Validation failed: stored token. Passed: SSH login.",
    );
  });
});
