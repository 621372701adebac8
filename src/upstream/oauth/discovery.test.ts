import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SmallIssuer } from "../../../test/upstream/small-issuer.ts";
import {
  bearerChallenge,
  discover,
  mustHavePkce,
  scopesOf,
  type LoginEndpoint,
  unionOf,
} from "./discovery.ts";
import { OAuthHttp } from "./oauth-http.ts";

describe("bearerChallenge()", () => {
  it("reads the scopes, the error and the place of the metadata", () => {
    const header =
      'Bearer realm="a, Basic x=\\"1\\"", error=insufficient_scope, scope="a b", ' +
      'resource_metadata="https://mcp.example/.well-known/x?a=1,2"';
    assert.deepEqual(bearerChallenge(header), {
      scopes: ["a", "b"],
      error: "insufficient_scope",
      resourceMetadata: "https://mcp.example/.well-known/x?a=1,2",
    });
  });

  it("finds it beside other schemes, and reads only its own parameters", () => {
    const header = 'Basic realm="x", bearer scope="a", Digest scope="b"';
    assert.deepEqual(bearerChallenge(header), { scopes: ["a"] });
    assert.deepEqual(bearerChallenge("Bearer"), { scopes: [] });
    assert.equal(bearerChallenge('Basic realm="Bearer scope=x"'), undefined);
    assert.equal(bearerChallenge(undefined), undefined);
  });

  it("takes no long time for a hostile header", () => {
    const started = process.cpuUsage();
    bearerChallenge(`Bearer ${'a="'.repeat(20_000)}`);
    bearerChallenge(`Bearer ${"a ".repeat(20_000)}`);
    bearerChallenge(`Bearer ${"\\".repeat(40_000)}`);
    assert.ok(process.cpuUsage(started).user < 1_000_000);
  });
});

describe("scopesOf() and unionOf()", () => {
  it("split at spaces and leave out what is there twice", () => {
    assert.deepEqual(unionOf(scopesOf(" a  b"), ["b", "c"], scopesOf(undefined)), ["a", "b", "c"]);
  });
});

const PROTECTED = "/.well-known/oauth-protected-resource";
const AUTHORIZATION = "/.well-known/oauth-authorization-server";

/** Here one machine is the MCP server and its issuer. */
async function find(
  issuer: SmallIssuer,
  { path = "/mcp", told, configured }: { path?: string; told?: string; configured?: string } = {},
): Promise<LoginEndpoint> {
  const server = new URL(path, issuer.url);
  const challenge = told === undefined ? undefined : { scopes: [], resourceMetadata: told };
  const http = new OAuthHttp({ server, trustsIssuer: false });
  return discover(server, challenge, http, configured);
}

describe("discover()", () => {
  it("looks where the challenge says, then under the path, then at the root", async () => {
    await using issuer = await SmallIssuer.open();
    const metadata = { resource: `${issuer.url}/mcp`, authorization_servers: [issuer.url] };
    issuer.documents.set(PROTECTED, { ...metadata, scopes_supported: ["root"] });
    assert.deepEqual((await find(issuer)).scopes, ["root"]);
    assert.deepEqual(issuer.requests.splice(0), [
      `GET ${PROTECTED}/mcp`,
      `GET ${PROTECTED}`,
      `GET ${AUTHORIZATION}`,
    ]);
    issuer.documents.set("/told", { ...metadata, scopes_supported: ["told"] });
    assert.deepEqual((await find(issuer, { told: `${issuer.url}/told` })).scopes, ["told"]);
    assert.deepEqual(issuer.requests, ["GET /told", `GET ${AUTHORIZATION}`]);
  });

  it("is led to no other machine by the server where the issuer is configured", async () => {
    await using issuer = await SmallIssuer.open();
    await using inside = await SmallIssuer.open();
    const configured = issuer.url;
    await find(issuer, { told: `${inside.url}/told`, configured });
    assert.deepEqual(inside.requests, []);
    await find(issuer, { told: `${issuer.url}/told`, configured });
    assert.ok(issuer.requests.includes("GET /told"));
  });

  it("takes the server itself where it names no issuer, as in 2025-03-26", async () => {
    await using issuer = await SmallIssuer.open();
    const found = await find(issuer, { path: "/mcp/?a=1#x" });
    assert.equal(found.issuer.issuer, issuer.url);
    assert.equal(found.resource, `${issuer.url}/mcp?a=1`);
  });

  it("refuses metadata about another server", async () => {
    await using issuer = await SmallIssuer.open();
    for (const resource of [
      "https://bank.example/mcp",
      `${issuer.url}/mc`,
      `${issuer.url}/mcp/x`,
      1,
    ]) {
      issuer.documents.set(`${PROTECTED}/mcp`, { resource, authorization_servers: [issuer.url] });
      await assert.rejects(find(issuer), /is about another server/, String(resource));
    }
    for (const resource of [issuer.url, `${issuer.url}/`, `${issuer.url}/mcp`]) {
      issuer.documents.set(`${PROTECTED}/mcp`, { resource, authorization_servers: [issuer.url] });
      assert.equal((await find(issuer)).resource, resource);
    }
  });

  it("finds the metadata of an issuer with a path in all three places", async () => {
    for (const place of [
      `${AUTHORIZATION}/tenant`,
      "/.well-known/openid-configuration/tenant",
      "/tenant/.well-known/openid-configuration",
    ]) {
      await using issuer = await SmallIssuer.open();
      const configured = `${issuer.url}/tenant`;
      issuer.documents.set(place, { ...issuer.metadata, issuer: configured });
      assert.equal((await find(issuer, { configured })).issuer.issuer, configured);
    }
  });

  it("refuses an issuer that calls itself otherwise", async () => {
    await using issuer = await SmallIssuer.open();
    issuer.metadata.issuer = "https://login.bank.example";
    await assert.rejects(find(issuer), /calls itself 'https:\/\/login\.bank\.example'/);
  });

  it("lets nobody log in at an issuer that does not announce PKCE with S256", async () => {
    for (const methods of [undefined, [], ["plain"], "S256"]) {
      await using issuer = await SmallIssuer.open();
      issuer.metadata.code_challenge_methods_supported = methods;
      const found = await find(issuer);
      assert.throws(() => mustHavePkce(found.issuer), /does not announce PKCE with S256/);
    }
  });

  it("says that it found nothing", async () => {
    await using issuer = await SmallIssuer.open();
    const configured = `${issuer.url}/nowhere`;
    await assert.rejects(
      find(issuer, { configured }),
      /No authorization server is at .*nowhere: .* Check the issuer/,
    );
  });
});
