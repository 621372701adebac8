import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { Certificates } from "../../protocol/bus/certificates/certificates.ts";
import { checkBus } from "./settings-checks.ts";

describe("checkBus()", () => {
  it("checks nothing if no plugin is configured", async () => {
    await using home = await SampleHome.create();
    assert.deepEqual(await checkBus((await home.load()).config), []);
  });

  it("warns about plugins without a running bus, and says how to start it", async () => {
    await using home = await SampleHome.create();
    const asked = { command: "x", permissions: { everything: true, namespace: "tools.asked" } };
    const plugins = { "tools.greet": { command: "greet" }, "tools.asked": asked };
    const bus = { listen: "tls://127.0.0.1:1", plugins };
    await home.write(home.userFile, JSON.stringify({ bus }));
    const [found, ...others] = await checkBus((await home.load()).config);
    // Nobody was asked about the one that an earlier version has added.
    assert.deepEqual(
      others.map(({ state, next }) => [state, next]),
      [["warn", "Run `trunkline plugin approve tools.greet`."]],
    );
    assert.equal(found?.state, "warn");
    assert.match(found?.next ?? "", /`trunkline serve` or `trunkline orchestrator`/);
    assert.doesNotMatch(found?.says ?? "", /Run `/);
  });

  it("finds a certificate that its key does not fit, and can put it aside", async () => {
    await using home = await SampleHome.create();
    const certs = join(home.data, "certs");
    const certificates = new Certificates(certs);
    await certificates.credentialsFor("greet");
    await certificates.credentialsFor("other");
    const check = async () => checkBus((await home.load()).config);
    assert.deepEqual(await check(), []);
    const key = join(certs, "greet.key");
    writeFileSync(key, readFileSync(join(certs, "other.key")));
    const [found, ...more] = await check();
    assert.deepEqual([found?.state, more.length], ["fail", 0]);
    assert.match(found?.says ?? "", /greet\.key' is not the key of '.*greet\.crt'/);
    assert.match(found?.next ?? "", /doctor --fix/);
    assert.equal(found?.fix?.asks, true);
    await found?.fix?.apply();
    assert.deepEqual(await check(), []);
    assert.equal(existsSync(key), false);
    assert.equal(readdirSync(certs).filter((name) => /^greet.*damaged/.test(name)).length, 2);
    // The bus makes new ones.
    await certificates.credentialsFor("greet");
  });

  it("finds a damaged authority, with which all certificates are made anew", async () => {
    await using home = await SampleHome.create();
    const certs = join(home.data, "certs");
    await new Certificates(certs).credentialsFor("greet");
    writeFileSync(join(certs, "ca.crt"), "not a certificate");
    const [found, ...more] = await checkBus((await home.load()).config);
    assert.deepEqual([found?.state, more.length], ["fail", 0]);
    assert.match(found?.says ?? "", /no certificate in '.*ca\.crt'/);
    await found?.fix?.apply();
    assert.deepEqual(await checkBus((await home.load()).config), []);
    await new Certificates(certs).credentialsFor("greet");
  });

  it("does not put certificates aside that are kept elsewhere", async () => {
    await using home = await SampleHome.create();
    const certsDir = join(home.path, "elsewhere");
    await new Certificates(certsDir).credentialsFor("greet");
    await rm(join(certsDir, "greet.key"));
    await home.write(home.userFile, JSON.stringify({ bus: { certsDir } }));
    const [found] = await checkBus((await home.load()).config);
    assert.match(found?.says ?? "", /greet\.key' is missing/);
    assert.equal(found?.fix, undefined);
  });
});
