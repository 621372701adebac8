import assert from "node:assert/strict";
import { chmodSync, mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { AuthorizationServer } from "../../../test/samples/sample-issuer.ts";
import { defaultConfig, type Config } from "../../config/config.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { checkAccess } from "./access-checks.ts";

async function check(data: string, host: string, serve: Partial<Config["serve"]> = {}) {
  const config = defaultConfig(data);
  const findings = await checkAccess({
    ...config,
    serve: { ...config.serve, host, ...serve },
  });
  return findings.map(({ state, says }) => `${state} ${says}`);
}

describe("checkAccess()", () => {
  it("reports who can log in, and the number of tokens", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const who = "ok programs on this machine can log in with the owner's token";
    assert.deepEqual(await check(folder.path, "127.0.0.1"), [`${who}, 0 other tokens`]);
    await new AccessTokens(folder.path).create("ci", { scopes: ["tools"] }, undefined);
    assert.deepEqual(await check(folder.path, "127.0.0.1"), [`${who}, 1 other token`]);
  });

  it("warns about an owner's token that is not accepted, and the command replaces it", async () => {
    await using line = await SampleCommandLine.create();
    const owner = new OwnerToken(line.home.data);
    await owner.ensure();
    const local = async () => (await check(line.home.data, "127.0.0.1")).slice(1);
    assert.deepEqual(await local(), []);
    chmodSync(owner.path, 0o644);
    assert.match((await local())[0] ?? "", /^warn the owner's token in .* is not accepted/);
    await line.run("token", "rotate");
    assert.deepEqual(await local(), []);
  });

  it("warns about clear text if other machines can connect", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const open = await check(folder.path, "0.0.0.0");
    assert.match(open[0] ?? "", /^ok other machines can log in/);
    assert.match(open[1] ?? "", /^warn /);
    const published = await check(folder.path, "127.0.0.1", { publicUrl: "http://x.example" });
    assert.ok(
      published.some((says) =>
        says.includes("`serve.publicUrl` is http://x.example, which is not encrypted"),
      ),
      published.join("\n"),
    );
  });

  it("fails for a setting that `serve` would refuse", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const [found] = await check(folder.path, "127.0.0.1", { publicUrl: "not an address" });
    assert.match(found ?? "", /^fail .*publicUrl/);
    const oauth = { authorizationServers: ["https://login.example.com"] };
    const [alone] = await check(folder.path, "127.0.0.1", { oauth });
    assert.match(alone ?? "", /^fail 'serve\.oauth' needs 'serve\.publicUrl'/);
  });

  it("fails for an authorization server whose keys it cannot find, and for no other", async () => {
    await using server = await AuthorizationServer.start("ES256");
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const [, keys, none, ...others] = await check(folder.path, "127.0.0.1", {
      publicUrl: "https://tools.example.com",
      oauth: { authorizationServers: [server.issuer.issuer, "http://127.0.0.1:1"] },
    });
    assert.match(keys ?? "", /^ok .*publishes its keys at .*\/keys$/);
    assert.match(none ?? "", /^fail cannot find the keys of http:\/\/127\.0\.0\.1:1: /);
    assert.deepEqual(others, []);
  });
});
