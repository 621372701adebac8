import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SmallIssuer } from "../../../test/upstream/small-issuer.ts";
import type { OAuthSettings } from "../settings.ts";
import { logIn } from "./log-in.ts";
import type { Login } from "./login.ts";
import { OAuthHttp } from "./oauth-http.ts";

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
    await assert.rejects(logInAt(issuer), /did not log you in: unexpected "iss"/);
    issuer.extra = {};
    issuer.metadata.authorization_response_iss_parameter_supported = true;
    await assert.rejects(logInAt(issuer), /did not log you in: response parameter "iss".* missing/);
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

  it("opens no login page that is not of the web, or not encrypted", async () => {
    await using issuer = await SmallIssuer.open();
    issuer.metadata.authorization_endpoint = "file:///etc/passwd";
    await assert.rejects(logInAt(issuer), /is not a web page/);
    // MCP 2025-11-25, basic/authorization § Communication Security.
    issuer.metadata.authorization_endpoint = "http://login.example/authorize";
    await assert.rejects(logInAt(issuer), /'http:\/\/login\.example\/authorize' is not encrypted/);
  });
});
