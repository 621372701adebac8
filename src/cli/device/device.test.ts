import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { Devices } from "../../store/access/devices.ts";
import { OwnerToken } from "../../store/access/access-token.ts";

interface Listed {
  readonly devices: { readonly id: string; readonly name: string; readonly isPaired: boolean }[];
}

describe("trunkline device", () => {
  it("lists the browsers that are logged in, without their secrets, and logs one out", async () => {
    await using line = await SampleCommandLine.create();
    const data = ["--data", line.home.path];
    assert.match((await line.run("device", "list", ...data)).err, /No browser is logged in/);
    const owner = new OwnerToken(line.home.path);
    await owner.ensure();
    const devices = new Devices(line.home.path);
    const login = { isPaired: true, mark: owner.mark, isLocal: false };
    const { device, secret } = await devices.add({ ...login, name: "Safari on iPhone" });
    await devices.add({ ...login, name: "Chrome on Linux", isPaired: false });
    const shown = await line.run("device", "list", ...data);
    assert.match(shown.out, /^ID +NAME +LOGGED IN +LAST SEEN +KIND\n/);
    assert.match(shown.out, /Safari on iPhone .* paired\n.*Chrome on Linux .* browser\n/);
    const listed = await line.run("device", "list", "--json", ...data);
    assert.equal((JSON.parse(listed.out) as Listed).devices[0]?.id, device.id);
    assert.ok(!listed.out.includes(device.sha256) && !listed.out.includes(secret));
    const wrong = await line.run("device", "revoke", "tablet", ...data);
    assert.equal(wrong.code, 1);
    assert.match(
      wrong.err,
      /Cannot revoke 'tablet': no device has this id or name\. Devices: .*iPhone/,
    );
    assert.equal((await line.run("device", "revoke", device.id, ...data)).code, 0);
    assert.equal(devices.get(device.id), undefined);
    await owner.rotate();
    assert.match((await line.run("device", "list", ...data)).err, /No browser is logged in/);
  });
});
