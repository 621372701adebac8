import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { notifySecrets, type NotifySecrets, webhookKey } from "./notify-secrets.ts";

const env = { TRUNKLINE_TOKEN_STORE: "file" };

describe("notifySecrets()", () => {
  it("are created once, by whichever process is first, and stored encrypted", async () => {
    await using folder = await SampleFolder.create();
    const { path: data } = folder;
    const configFile = join(data, "config", "config.jsonc");
    const open = (): NotifySecrets => notifySecrets({ data, configFile, env });
    const found = await Promise.all([open(), open(), open()].map((each) => each.vapid()));
    const keys = new Set(found.map(({ publicKey }) => publicKey));
    assert.equal(keys.size, 1);
    const secret = await open().webhook();
    assert.match(secret, /^whsec_/);
    assert.equal(webhookKey(secret).length, 32);
    assert.equal(await open().webhook(), secret);
    const stored = await readFile(join(data, "notify-secrets.enc"), "utf8");
    assert.ok(!stored.includes(secret.slice(6)));
    await readFile(join(data, "config", "token.key"));
    const running = open();
    assert.equal(await running.webhook(), secret);
    const rotated = await open().rotateWebhook();
    assert.notEqual(rotated, secret);
    assert.equal(await running.webhook(), rotated, "it is in force at once, in all processes");
    assert.equal(await open().webhook(), rotated);
    assert.equal((await open().vapid()).publicKey, [...keys][0]);
  });
});
