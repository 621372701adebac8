import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { SampleIssuer } from "../../../test/samples/sample-issuer.ts";
import { sampleServing } from "../../../test/samples/sample-serving.ts";
import { fetchJson, findKeysUrl } from "./issuer-keys.ts";
import { jwtVerifier, type JwtVerifier } from "./jwt-verifier.ts";

const AUD = "https://tools.example.com/mcp";

async function setUp(
  now: () => number = () => 0,
): Promise<{ readonly issuer: SampleIssuer; readonly verifier: JwtVerifier }> {
  const issuer = await SampleIssuer.create();
  const oauth = { authorizationServers: [issuer.issuer] };
  const serving = sampleServing("::", { publicUrl: "https://tools.example.com", oauth });
  if (serving.oauth === undefined) throw new Error("OAuth is not configured");
  const { fetch } = issuer;
  return { issuer, verifier: jwtVerifier(serving.oauth, { fetch, now }) };
}

describe("issuerKeys()", { timeout: 600_000 }, () => {
  it("fetches keys once, and again for an unknown key, but not too often", async () => {
    let now = 0;
    const { issuer, verifier } = await setUp(() => now);
    const old = await issuer.token({ aud: AUD });
    await Promise.all([verifier.verify(old), verifier.verify(old), verifier.verify(old)]);
    assert.equal(issuer.fetched.length, 2);
    await issuer.rotate();
    const fresh = await issuer.token({ aud: AUD });
    assert.equal((await verifier.verify(fresh)).kind, "invalid");
    assert.equal(issuer.fetched.length, 2);
    now += 31_000;
    assert.equal((await verifier.verify(fresh)).kind, "valid");
    assert.equal((await verifier.verify(old)).kind, "invalid");
    assert.equal(issuer.fetched.length, 4);
  });

  it("uses old keys while new ones cannot be fetched, but not for ever", async () => {
    let now = 0;
    const { issuer, verifier } = await setUp(() => now);
    const token = await issuer.token({ aud: AUD });
    issuer.isDown = true;
    await assert.rejects(verifier.verify(token), { code: "unavailable" });
    const count = issuer.fetched.length;
    await assert.rejects(verifier.verify(token), { code: "unavailable" });
    assert.equal(issuer.fetched.length, count, "it is left alone for a while");
    now += 6_000;
    issuer.isDown = false;
    assert.equal((await verifier.verify(token)).kind, "valid");
    issuer.isDown = true;
    now += 11 * 60_000;
    assert.equal((await verifier.verify(token)).kind, "valid");
    now += 50 * 60_000;
    await assert.rejects(verifier.verify(token), { code: "unavailable" });
  });

  it("refuses metadata of another issuer, or with a clear-text address", async () => {
    for (const wrong of [
      { issuer: "https://evil.example.com", jwks_uri: "https://login.example.com/keys" },
      { issuer: "https://login.example.com", jwks_uri: "http://login.example.com/keys" },
      { issuer: "https://login.example.com", jwks_uri: "file:///etc/passwd" },
      { issuer: "https://login.example.com" },
      {},
    ]) {
      const { issuer, verifier } = await setUp();
      issuer.metadata = wrong;
      const token = await issuer.token({ aud: AUD });
      await assert.rejects(verifier.verify(token), { code: "unavailable" }, JSON.stringify(wrong));
    }
  });
});

describe("findKeysUrl()", () => {
  it("tries the paths of RFC 8414 and of OpenID Connect, in this order", async () => {
    const asked: string[] = [];
    const found = await findKeysUrl("https://a.example/tenant/", async (url) => {
      asked.push(new URL(url).pathname);
      if (asked.length < 3) throw new Error("404");
      // Some write the slash at the end of an issuer, and some do not.
      return { issuer: "https://a.example/tenant", jwks_uri: "https://keys.example/k" };
    });
    assert.equal(found, "https://keys.example/k");
    assert.deepEqual(asked, [
      "/.well-known/oauth-authorization-server/tenant",
      "/.well-known/openid-configuration/tenant",
      "/tenant/.well-known/openid-configuration",
    ]);
  });

  it("reports the problem of the first path if none has keys", async () => {
    let count = 0;
    const fetch = async (): Promise<never> => {
      count++;
      throw new Error(`failure ${count}`);
    };
    await assert.rejects(findKeysUrl("https://a.example", fetch), /failure 1/);
    assert.equal(count, 2);
  });
});

/** An HTTP server on this machine, for as long as it is needed. */
async function serve(handle: RequestListener): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/x`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("fetchJson()", { timeout: 600_000 }, () => {
  it("accepts an object, and nothing else", async () => {
    let body = "";
    await using server = await serve((_, response) => void response.end(body));
    body = `{"a":1}`;
    assert.deepEqual(await fetchJson(server.url), { a: 1 });
    for (body of ["[]", "null", "5", "{"]) await assert.rejects(fetchJson(server.url), body);
  });

  it("follows no redirect, and does not treat an error status as an answer", async () => {
    let status = 302;
    await using server = await serve((request, response) => {
      if (request.url === "/y") return void response.end(`{"keys":[]}`);
      response.writeHead(status, { location: "/y" }).end(`{"keys":[]}`);
    });
    await assert.rejects(fetchJson(server.url));
    status = 500;
    await assert.rejects(fetchJson(server.url), /answered 500/);
  });

  it("stops reading an answer that is too large", async () => {
    await using server = await serve((_, response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(64 * 1024, " ")));
      };
      response.on("drain", more);
      more();
    });
    await assert.rejects(fetchJson(server.url), /answered with more than 524288 bytes/);
  });
});
