import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, it } from "node:test";

import { Callback } from "./callback.ts";

async function statusOf(url: string, options: object = {}): Promise<number | undefined> {
  const asked = request(url, { agent: false, ...options }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
  return response.statusCode;
}

describe("Callback", () => {
  it("takes only what carries the state of this login", async () => {
    await using callback = await Callback.open("right");
    const { redirectUri } = callback;
    let hasCome = false;
    void callback.came.then(() => (hasCome = true));
    assert.equal(await statusOf(`${redirectUri}?code=evil`), 400);
    assert.equal(await statusOf(`${redirectUri}?code=evil&state=wrong`), 400);
    assert.equal(
      await statusOf(`${redirectUri}?code=evil&state=rigÄt`.replace("Ä", "%C3%84")),
      400,
    );
    assert.equal(await statusOf(`${redirectUri}?error=access_denied&state=wrong`), 400);
    assert.equal(await statusOf(`${redirectUri}/x?code=evil&state=right`), 404);
    assert.equal(await statusOf(`${redirectUri}?state=right`, { method: "POST" }), 405);
    const headers = { host: "evil.example" };
    assert.equal(await statusOf(`${redirectUri}?state=right`, { headers }), 404);
    assert.equal(hasCome, false);
    assert.equal(await statusOf(`${redirectUri}?code=good&state=right`), 200);
    assert.equal((await callback.came).get("code"), "good");
  });

  it("takes a pasted address of this login only", async () => {
    await using callback = await Callback.open("right");
    assert.equal(callback.paste("hello"), false);
    assert.equal(callback.paste("http://evil.example/callback?code=1&state=right"), false);
    assert.equal(callback.paste(`${callback.redirectUri}?code=1&state=wrong`), false);
    assert.equal(callback.paste(` ${callback.redirectUri}?code=1&state=right\n`), true);
    assert.equal((await callback.came).get("code"), "1");
  });

  it("says that its port is taken", async () => {
    await using first = await Callback.open("a");
    const port = Number(new URL(first.redirectUri).port);
    await assert.rejects(Callback.open("b", port), /Cannot wait for the browser: .*EADDRINUSE/);
  });
});
