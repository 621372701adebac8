import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { SampleKeychain } from "../../../test/samples/sample-keychain.ts";
import { type IdentitySettings, resolveIdentity } from "../identity.ts";
import { tokenCommandsFor } from "./token-commands.ts";
import { openTokens } from "./tokens.ts";

const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

function identity(more: Partial<IdentitySettings> = {}) {
  return resolveIdentity("work", { provider: "github", user: "ada", ...more });
}

function commandsIn(folder: SampleFolder, keychain = new SampleKeychain()) {
  const { path } = folder;
  const openKeychain = async (): Promise<SampleKeychain> => keychain;
  return tokenCommandsFor(
    openTokens({ data: path, configFolder: path, env: {}, openKeychain }),
    {},
  );
}

/** Has the forge answer so, without a network. */
function forgeSays(t: TestContext, status: number, body: object, headers = {}): void {
  t.mock.method(globalThis, "fetch", async () => Response.json(body, { status, headers }));
}

describe("TokenCommands", () => {
  it("stores a token that the forge confirms as the identity's, and reports when it expires", async (t) => {
    await using folder = await SampleFolder.create();
    const expiry = { "github-authentication-token-expiration": "2999-01-01 10:00:00 UTC" };
    forgeSays(t, 200, { login: "Ada" }, expiry);
    const commands = commandsIn(folder);
    const kept = await commands.save(identity(), `  ${TOKEN}\n`);
    assert.deepEqual([kept.token, kept.expires], ["ghp_••••••••6789", "2999-01-01T10:00:00.000Z"]);
    assert.deepEqual(kept.notes, []);
    const { isOk, says } = await commands.verify(identity());
    assert.ok(isOk && says.startsWith("The token is valid for user Ada. It expires on 2999"), says);
  });

  it("stores no token that the forge refuses, or that is somebody else's", async (t) => {
    await using folder = await SampleFolder.create();
    const keychain = new SampleKeychain();
    const commands = commandsIn(folder, keychain);
    forgeSays(t, 401, {});
    await assert.rejects(commands.save(identity(), TOKEN), /rejected the token/);
    t.mock.restoreAll();
    forgeSays(t, 200, { login: "mallory" });
    await assert.rejects(commands.save(identity(), TOKEN), { code: "usage", message: /'mallory'/ });
    assert.equal(keychain.secrets.size, 0);
  });

  it("stores a token if the forge cannot be asked, and says so", async (t) => {
    await using folder = await SampleFolder.create();
    forgeSays(t, 502, {});
    const { notes } = await commandsIn(folder).save(identity(), TOKEN);
    assert.match(notes.join(), /could not be checked: .*502/);
  });

  it("reports what is wrong with a token, without throwing", async (t) => {
    await using folder = await SampleFolder.create();
    const commands = commandsIn(folder);
    const none = await commands.verify(identity());
    assert.match(none.says, /No token is stored.*identity token set work/);
    const unwanted = await commands.verify(identity({ tokenSource: { kind: "none" } }));
    assert.equal(unwanted.isOk, true);
    await commands.save(identity(), TOKEN, { verify: false, expires: "2020-01-01T00:00:00Z" });
    assert.match((await commands.verify(identity())).says, /expired on 2020/);
    await commands.save(identity(), TOKEN, { verify: false });
    forgeSays(t, 403, {});
    const refused = await commands.verify(identity());
    assert.deepEqual([refused.isOk, /403/.test(refused.says)], [false, true]);
  });

  it("shows a mask, and nothing if there is no token", async () => {
    await using folder = await SampleFolder.create();
    const commands = commandsIn(folder);
    assert.deepEqual(await commands.show(identity()), { identity: "work" });
    await commands.save(identity(), TOKEN, { verify: false });
    assert.ok(!JSON.stringify(await commands.show(identity())).includes(TOKEN));
  });
});
