import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SignJWT } from "jose";

import { SmallIssuer } from "../../../test/upstream/small-issuer.ts";
import type { AddressSettings } from "../settings.ts";
import { ExchangedTokens } from "./exchanged-tokens.ts";
import { managedExchange } from "./managed-exchange.ts";

const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";

/** An identity provider and an authorization server that also serves the metadata of an MCP server. */
async function rig() {
  const ending = new AsyncDisposableStack();
  const provider = ending.use(await SmallIssuer.open());
  const issuer = ending.use(await SmallIssuer.open());
  const url = `${issuer.url}/mcp`;
  const metadata = { resource: url, scopes_supported: ["read"] };
  issuer.documents.set("/.well-known/oauth-protected-resource/mcp", metadata);
  provider.answer = async (form) => {
    const { audience: aud = "", resource } = Object.fromEntries(form);
    const claims = { iss: provider.url, aud, resource };
    const jwt = new SignJWT(claims).setProtectedHeader({ alg: "HS256", typ: "oauth-id-jag+jwt" });
    const access_token = await jwt.sign(new Uint8Array(32));
    return { access_token, issued_token_type: ID_JAG, token_type: "N_A" };
  };
  const identityProvider = { issuer: provider.url, clientId: "gateway", clientSecret: "s" };
  const oauth = { issuer: issuer.url, clientId: "trunkline", clientSecret: "t", identityProvider };
  const settings: AddressSettings = { url, login: "passed on", oauth };
  const identity = {
    now: "ada" as string | undefined,
    refusals: 0,
    token: async () => identity.now,
    refusal: async () => (identity.now === undefined ? "wants a login" : undefined),
    refused: async () => {
      identity.refusals++;
      return { why: "wants a login" };
    },
  };
  const make = (more: object = {}) => {
    const own = { ...settings, oauth: { ...oauth, ...more } } as AddressSettings;
    return new ExchangedTokens(identity, managedExchange(own, identityProvider));
  };
  return { ending, provider, issuer, url, identity, make };
}

describe("managedExchange()", () => {
  it("asks once for all calls of a person, and anew for another ID token", async () => {
    const { ending, provider, issuer, identity, make, url } = await rig();
    await using _ = ending;
    const tokens = make();
    const all = await Promise.all([tokens.token(), tokens.token(), tokens.token()]);
    assert.equal(new Set(all).size, 1);
    assert.equal(await tokens.token(), all[0]);
    assert.deepEqual([provider.grants.length, issuer.grants.length], [1, 1]);
    const { assertion, ...form } = Object.fromEntries(issuer.grants[0] ?? []);
    const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
    assert.deepEqual(form, { grant_type, resource: url, scope: "read" });
    assert.match(String(assertion), /^ey/);
    // Somebody else logs in while a token is asked for: nobody gets the other's.
    const held = Promise.withResolvers<void>();
    issuer.hold = held.promise;
    identity.now = "ada again";
    const hers = tokens.token();
    await new Promise((resolve) => setTimeout(resolve, 50));
    identity.now = "bob";
    const his = tokens.token();
    held.resolve();
    assert.notEqual(await hers, await his);
    const subjects = provider.grants.map((grant) => grant.get("subject_token"));
    assert.deepEqual(subjects, ["ada", "ada again", "bob"]);
    assert.equal(await tokens.token(), await his);
    identity.now = undefined;
    assert.equal(await tokens.token(), undefined);
  });

  it("asks for the scopes that a server wants in the course of time", async () => {
    const { ending, issuer, make } = await rig();
    await using _ = ending;
    const tokens = make();
    const token = await tokens.token();
    const challenge = 'Bearer error="insufficient_scope", scope="write"';
    const after = await tokens.refused({ status: 403, challenge, token });
    assert.ok("token" in after && after.token !== token);
    assert.equal(issuer.grants.at(-1)?.get("scope"), "read write");
    const again = { status: 403, challenge, token: after.token } as const;
    const why = "wants the scope write (403), which you are not given";
    assert.deepEqual(await tokens.refused(again), { why });
    const fixed = make({ scopes: ["read"] });
    const given = await fixed.token();
    assert.deepEqual(await fixed.refused({ status: 403, challenge, token: given }), { why });
  });

  it("passes nobody on to an authorization server that is not configured, or for another server", async () => {
    const { ending, provider, issuer, make } = await rig();
    await using _ = ending;
    // What the server says of authorization servers does not count.
    const evil = { resource: "https://bank.example/mcp", authorization_servers: ["https://evil"] };
    issuer.documents.set("/.well-known/oauth-protected-resource/mcp", evil);
    await assert.rejects(make().token(), /about another server/);
    assert.deepEqual(provider.grants, []);
    issuer.metadata = { ...issuer.metadata, issuer: "https://bank.example" };
    issuer.documents.clear();
    await assert.rejects(make().token(), /calls itself 'https:\/\/bank.example'/);
    assert.deepEqual(provider.grants, []);
  });
});
