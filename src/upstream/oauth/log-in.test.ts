import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, it } from "node:test";
import { SmallIssuer } from "../../../test/upstream/small-issuer.ts";
import type { OAuthSettings } from "../../config/schema/schema.gen.ts";
import { Callback, clientFor, logIn } from "./log-in.ts";
import type { Login, OAuthClient } from "./login-tokens.ts";
import { OAuthHttp } from "./oauth-http.ts";

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

async function client(issuer: SmallIssuer, settings: OAuthSettings): Promise<OAuthClient> {
  const http = new OAuthHttp({ server: new URL(issuer.url), trustsIssuer: false });
  return clientFor(issuer.metadata as never, settings, "http://127.0.0.1:1/callback", http);
}

describe("clientFor()", () => {
  it("prefers a configured client, then a document, then registration", async () => {
    await using issuer = await SmallIssuer.open();
    const clientMetadataUrl = "https://example.com/client.json";
    issuer.metadata.client_id_metadata_document_supported = true;
    const own = { clientId: "own", issuer: issuer.url, clientMetadataUrl };
    assert.deepEqual(await client(issuer, own), { id: "own", method: "none" });
    assert.deepEqual(await client(issuer, { clientMetadataUrl }), {
      id: clientMetadataUrl,
      method: "none",
    });
    issuer.metadata.client_id_metadata_document_supported = false;
    const registered = await client(issuer, { clientMetadataUrl });
    assert.deepEqual(registered, { id: "client-1", method: "none" });
  });

  it("sends a secret as the issuer wants it", async () => {
    await using issuer = await SmallIssuer.open();
    const own = { clientId: "own", clientSecret: "s", issuer: issuer.url };
    assert.equal((await client(issuer, own)).method, "client_secret_basic");
    issuer.metadata.token_endpoint_auth_methods_supported = ["client_secret_post"];
    assert.equal((await client(issuer, own)).method, "client_secret_post");
    await client(issuer, {});
    assert.equal(issuer.registered[0]?.token_endpoint_auth_method, "client_secret_post");
  });

  it("gives a configured client to no issuer that only the server has named", async () => {
    await using issuer = await SmallIssuer.open();
    const asked = client(issuer, { clientId: "own", clientSecret: "s" });
    const next = new RegExp(
      `Set 'oauth\\.issuer' of the server, to ${issuer.url} if it is that one`,
    );
    await assert.rejects(asked, next);
  });

  it("says what to configure where nobody can be registered", async () => {
    await using issuer = await SmallIssuer.open();
    delete issuer.metadata.registration_endpoint;
    await assert.rejects(client(issuer, {}), /no dynamic registration: .* set 'oauth\.clientId'/);
    issuer.metadata.registration_endpoint = `${issuer.url}/nothing`;
    await assert.rejects(client(issuer, {}), /does not register Trunkline: /);
  });
});

interface Shown {
  readonly login: Login;
  readonly link: URL;
}

/** Logs in with a browser that comes back by itself. */
async function logInAt(
  issuer: SmallIssuer,
  settings: OAuthSettings = {},
  wanted: readonly string[] = [],
): Promise<Shown> {
  const server = new URL("/mcp", issuer.url);
  let shown = "";
  const browsing = Promise.withResolvers<unknown>();
  const login = logIn({
    server,
    settings,
    wanted,
    headers: {},
    http: new OAuthHttp({ server, trustsIssuer: false }),
    signal: AbortSignal.timeout(600_000),
    show: ({ link, paste }) => {
      shown = link;
      browsing.resolve(issuer.browse(link).then((end) => paste(end.href)));
    },
  });
  const [done] = await Promise.all([login, Promise.race([browsing.promise, login])]);
  return { login: done, link: new URL(shown) };
}

describe("logIn()", () => {
  it("registers the very address that it listens on, and asks for a token for the server", async () => {
    await using issuer = await SmallIssuer.open();
    const { login, link } = await logInAt(issuer);
    const [client] = issuer.registered;
    assert.deepEqual(client?.redirect_uris, [link.searchParams.get("redirect_uri")]);
    assert.equal(client?.application_type, "native");
    assert.equal(link.searchParams.get("code_challenge_method"), "S256");
    assert.equal(link.searchParams.get("resource"), `${issuer.url}/mcp`);
    assert.equal(link.searchParams.get("scope"), null);
    assert.equal(issuer.grants[0]?.get("resource"), `${issuer.url}/mcp`);
    assert.equal(login.server, `${issuer.url}/mcp`);
    assert.equal(login.issuer, issuer.url);
    assert.match(login.accessToken, /^at-1-/);
    assert.ok((login.expiresAt ?? 0) > Date.now());
  });

  it("leaves the server out of its requests if told so", async () => {
    await using issuer = await SmallIssuer.open();
    const { login, link } = await logInAt(issuer, { resource: false });
    assert.equal(link.searchParams.get("resource"), null);
    assert.equal(issuer.grants[0]?.get("resource"), null);
    assert.equal(login.resource, undefined);
  });

  it("asks for what the server wants, for what it wanted before, and for offline access", async () => {
    await using issuer = await SmallIssuer.open();
    issuer.metadata.scopes_supported = ["offline_access", "other"];
    const resource = { resource: issuer.url, scopes_supported: ["read"] };
    issuer.documents.set("/.well-known/oauth-protected-resource", resource);
    const { link } = await logInAt(issuer, {}, ["write", "read"]);
    assert.equal(link.searchParams.get("scope"), "read write offline_access");
    assert.equal(link.searchParams.get("prompt"), "consent");
    const configured = await logInAt(issuer, { scopes: ["own"] });
    assert.equal(configured.link.searchParams.get("scope"), "own offline_access");
  });

  it("sends no code if another issuer answers, or if the promised issuer is missing", async () => {
    await using issuer = await SmallIssuer.open();
    issuer.extra = { iss: "https://evil.example" };
    await assert.rejects(logInAt(issuer), /Refused what http:\S+ answered: unexpected "iss"/);
    issuer.extra = {};
    issuer.metadata.authorization_response_iss_parameter_supported = true;
    await assert.rejects(logInAt(issuer), /Refused what .*: response parameter "iss".* missing/);
    assert.equal(issuer.grants.length, 0);
    issuer.extra = { iss: issuer.url };
    await logInAt(issuer);
  });

  it("repeats what the issuer says when it refuses, but not what another says", async () => {
    await using issuer = await SmallIssuer.open();
    issuer.extra = { error: "access_denied", error_description: "not you" };
    await assert.rejects(logInAt(issuer), /did not log you in: access_denied: not you$/);
    issuer.extra = { iss: "https://evil.example", error: "x", error_description: "call 555-1234" };
    await assert.rejects(logInAt(issuer), ({ message }: Error) => !message.includes("555-1234"));
  });

  it("says on which side it failed: not reached, not understood, or not known there", async () => {
    await using issuer = await SmallIssuer.open();
    const { token_endpoint: good } = issuer.metadata;
    issuer.metadata.token_endpoint = "http://127.0.0.1:1/token";
    await assert.rejects(logInAt(issuer), { message: /^Cannot reach http:\/\/127\.0\.0\.1:1: / });
    issuer.documents.set("/token", { token_type: "Bearer" });
    issuer.metadata.token_endpoint = good;
    await assert.rejects(logInAt(issuer), /Refused what http:\S+ answered: .*access_token/);
    issuer.extra = { error: "unauthorized_client" };
    await assert.rejects(
      logInAt(issuer),
      /did not log you in: unauthorized_client\. Check the client/,
    );
  });

  it("opens no login page that is not of the web, or not encrypted", async () => {
    await using issuer = await SmallIssuer.open();
    issuer.metadata.authorization_endpoint = "file:///etc/passwd";
    await assert.rejects(logInAt(issuer), /is not a web page/);
    // MCP 2025-11-25, basic/authorization § Communication Security.
    issuer.metadata.authorization_endpoint = "http://login.example/authorize";
    await assert.rejects(logInAt(issuer), /'http:\/\/login\.example\/authorize' is not encrypted/);
  });
});
