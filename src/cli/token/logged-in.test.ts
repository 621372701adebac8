import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { Devices } from "../../store/access/devices.ts";
import { OwnerToken } from "../../store/access/access-token.ts";

interface Listed {
  readonly devices: { readonly id: string; readonly name: string; readonly isPaired: boolean }[];
}

describe("trunkline token", () => {
  it("lists the browsers that are logged in, without their secrets, and logs one out", async () => {
    await using line = await SampleCommandLine.create();
    const data = ["--data", line.home.path];
    assert.match((await line.run("token", "list", ...data)).err, /No browser is logged in/);
    const owner = new OwnerToken(line.home.path);
    await owner.ensure();
    const devices = new Devices(line.home.path);
    const login = { isPaired: true, mark: owner.mark, isLocal: false };
    const { device, secret } = await devices.add({ ...login, name: "Safari on iPhone" });
    await devices.add({ ...login, name: "Chrome on Linux", isPaired: false });
    const shown = await line.run("token", "list", ...data);
    assert.match(
      shown.out,
      /^Browsers that are logged in:\nNAME +ID +LOGGED IN +LAST SEEN +KIND\n/,
    );
    assert.match(shown.out, /Safari on iPhone .* paired\n.*Chrome on Linux .* browser\n/);
    const listed = await line.run("token", "list", "--json", ...data);
    assert.equal((JSON.parse(listed.out) as Listed).devices[0]?.id, device.id);
    assert.ok(!listed.out.includes(device.sha256) && !listed.out.includes(secret));
    const wrong = await line.run("token", "revoke", "tablet", ...data);
    assert.equal(wrong.code, 1);
    assert.match(wrong.err, /Cannot revoke 'tablet': no token or browser has this name or id/);
    assert.match(wrong.err, /Tokens: none\. Browsers: .*iPhone/);
    assert.equal((await line.run("token", "revoke", device.id, ...data)).code, 0);
    assert.equal(devices.get(device.id), undefined);
    await devices.add({ ...login, name: "phone" });
    const tokens = new AccessTokens(line.home.path);
    await tokens.create("phone", { scopes: ["tools"] });
    const both = await line.run("token", "revoke", "phone", ...data);
    assert.match(both.err, /more than one has this name\. Use an id: \S+, \S+/);
    assert.equal(tokens.list().length + devices.list().length, 3);
    await owner.rotate();
    assert.match((await line.run("token", "list", ...data)).err, /No browser is logged in/);
  });
});
