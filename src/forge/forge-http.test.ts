import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { TrunklineError } from "../base/errors.ts";
import { holdSecret } from "../base/text/mask.ts";
import { ForgeHttp, type ForgeHttpOptions, ForgeRefusal, webPage } from "./forge-http.ts";

/** A test server in place of a forge. */
async function serve(handle: RequestListener) {
  const server = createServer(handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    http: (more: Partial<ForgeHttpOptions> = {}) =>
      new ForgeHttp({
        api: `http://forge.test:${port}/api`,
        headers: { authorization: "Bearer s3cret" },
        addresses: async () => ["127.0.0.1"],
        ...more,
      }),
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("ForgeHttp", () => {
  it("connects to the checked addresses, and does not resolve the name again", async () => {
    // 'forge.test' has no address: RFC 6761 reserves the name.
    await using forge = await serve(({ headers, url }, response) => {
      response.end(JSON.stringify([headers.host?.split(":")[0], url]));
    });
    assert.deepEqual(await forge.http().call("GET", "/user"), ["forge.test", "/api/user"]);
  });

  it("sends no secret that we hold in a text", async () => {
    holdSecret('held "forge" value');
    await using forge = await serve((request, response) => request.pipe(response));
    const body = { body: 'It is held "forge" value.', draft: true };
    const sent = await forge.http().call("POST", "/pulls", body);
    assert.deepEqual(sent, { body: "It is •••.", draft: true });
  });

  it("does not connect if the address is refused", async () => {
    let isAsked = false;
    await using forge = await serve((_, response) => {
      isAsked = true;
      response.end("{}");
    });
    const addresses = () => Promise.reject(new TrunklineError("untrusted", "not a public address"));
    const refused = { code: "untrusted", message: "not a public address" };
    await assert.rejects(forge.http({ addresses }).call("GET", "/user"), refused);
    assert.equal(isAsked, false);
  });

  it("shows the beginning of an answer that is all dots", async () => {
    await using forge = await serve((_, response) => {
      const message = `No${".".repeat(500_000)}x`;
      response.writeHead(422).end(JSON.stringify({ message }));
    });
    await assert.rejects(forge.http().call("GET", "/user"), /No\.{100}/);
  });

  it("takes a list of more items than a call can have arguments", async () => {
    const items = Array.from({ length: 500_000 }, (_, n) => n % 10);
    await using forge = await serve((_, response) => response.end(JSON.stringify(items)));
    assert.equal((await forge.http().list("/pulls", 1)).length, items.length);
  });

  it("says that a name has no address, as without a network", async () => {
    const addresses = () => Promise.reject(new Error("getaddrinfo ENOTFOUND forge.test"));
    const api = "https://forge.test/api";
    await assert.rejects(new ForgeHttp({ api, headers: {}, addresses }).call("GET", "/user"), {
      code: "unavailable",
      message: /^Cannot find forge\.test: getaddrinfo ENOTFOUND forge\.test\.$/,
    });
  });

  it("follows no redirect, which would send the token to another host", async () => {
    const asked: string[] = [];
    await using forge = await serve(({ url = "" }, response) => {
      asked.push(url);
      response.writeHead(301, { location: "/elsewhere" }).end();
    });
    await assert.rejects(
      forge.http().call("GET", "/user"),
      /answered 301\. The repository has moved/,
    );
    assert.deepEqual(asked, ["/api/user"]);
  });

  it("gives up on an answer that does not come, and on one that does not end", async () => {
    await using silent = await serve(() => {});
    const late = silent.http({ timeout: 50 }).call("GET", "/user");
    await assert.rejects(late, /Cannot ask forge\.test:\d+: it did not answer within 50 ms/);
    const signal = AbortSignal.abort();
    await assert.rejects(silent.http({ signal }).call("GET", "/user"), /no time left/);
    await using endless = await serve((_, response) => {
      const more = (): void => {
        while (response.write("x".repeat(64 * 1024))) continue;
      };
      response.on("drain", more);
      more();
    });
    await assert.rejects(endless.http().call("GET", "/user"), /more than 4194304 bytes/);
  });

  it("reports the forge's message as one visible line, in any of its shapes", async () => {
    const bodies: [string, RegExp][] = [
      [
        '{"message":"Validation Failed","errors":[{"message":"No commits"}]}',
        /: Validation Failed – No commits\.$/,
      ],
      ['{"message":{"base":["is wrong"]}}', /: is wrong\.$/],
      ['{"error":"insufficient_scope"}', /: insufficient_scope\.$/],
      ['{"message":"a\\u001b[2J\\nb"}', /: a\\u001b\[2J\\nb\.$/],
      ["<html>", /answered 422\.$/],
      [JSON.stringify({ message: "x".repeat(9999) }), /: x{300}…\.$/],
    ];
    for (const [body, says] of bodies) {
      await using forge = await serve((_, response) => void response.writeHead(422).end(body));
      await assert.rejects(forge.http().call("POST", "/pulls", {}), (error: Error) => {
        assert.match(error.message, says);
        return error instanceof ForgeRefusal && error.status === 422;
      });
    }
  });

  it("refuses an answer that is not JSON", async () => {
    await using forge = await serve((_, response) => void response.end("<html>Log in</html>"));
    await assert.rejects(forge.http().call("GET", "/user"), /something other than JSON/);
  });
});

describe("webPage()", () => {
  it("is a web address, or empty", () => {
    assert.equal(webPage("https://forge.test/a/1"), "https://forge.test/a/1");
    for (const wrong of ["javascript:alert(1)", "file:///etc/passwd", "1", 1, null, undefined]) {
      assert.equal(webPage(wrong), "");
    }
  });
});
