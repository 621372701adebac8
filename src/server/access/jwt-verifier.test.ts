import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { exportSPKI, importJWK, SignJWT } from "jose";

import { jwtVerifier, type JwtVerifier, type Verdict } from "./jwt-verifier.ts";
import { SampleIssuer } from "../../../test/samples/sample-issuer.ts";
import { sampleServing } from "../../../test/samples/sample-serving.ts";

const AUD = "https://tools.example.com/mcp";

interface Setup {
  readonly issuer: SampleIssuer;
  readonly verifier: JwtVerifier;
}

async function setUp(
  alg = "ES256",
  more: { scopes?: string[]; audience?: string } = {},
): Promise<Setup> {
  const issuer = await SampleIssuer.create("https://login.example.com", alg);
  const oauth = { authorizationServers: [issuer.issuer], ...more };
  const serving = sampleServing("::", { publicUrl: "https://tools.example.com", oauth });
  if (serving.oauth === undefined) throw new Error("OAuth is not configured");
  const { fetch } = issuer;
  return { issuer, verifier: jwtVerifier(serving.oauth, { fetch }) };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function why(verdict: Verdict): string {
  return verdict.kind === "invalid" ? verdict.why : `not invalid but ${verdict.kind}`;
}

describe("jwtVerifier()", { timeout: 600_000 }, () => {
  for (const alg of ["RS256", "PS256", "ES256", "EdDSA"]) {
    it(`accepts a valid token that is signed with ${alg}`, async () => {
      const { issuer, verifier } = await setUp(alg);
      const verdict = await verifier.verify(await issuer.token({ aud: AUD }));
      assert.equal(verdict.kind, "valid");
      assert.equal(verdict.subject, "alice");
      assert.equal(verdict.issuer, issuer.issuer);
      assert.ok(verdict.until > Date.now());
    });
  }

  it("refuses a token that is unsigned, signed by another key, or with a shared secret", async () => {
    const { issuer, verifier } = await setUp("RS256");
    const good = await issuer.token({ aud: AUD });
    const [head = "", body = "", signature = ""] = good.split(".");
    const stranger = await SampleIssuer.create(issuer.issuer, "RS256");
    const [jwk] = issuer.jwks.keys;
    assert.ok(jwk);
    // The oldest trick: the public key as the secret of an HMAC.
    const key = (await importJWK({ ...jwk, ext: true }, "RS256")) as CryptoKey;
    const secret = new TextEncoder().encode(await exportSPKI(key));
    const claims = { iss: issuer.issuer, sub: "eve", aud: AUD, exp: 9_999_999_999 };
    const hmac = await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", kid: jwk.kid ?? "" })
      .sign(secret);
    const forged = {
      none: `${encode({ alg: "none" })}.${encode(claims)}.`,
      noneWithSignature: `${encode({ alg: "none" })}.${body}.${signature}`,
      hmac,
      stranger: await stranger.token({ aud: AUD }),
      strangerWithOurKid: await stranger.token({ aud: AUD }, { kid: jwk.kid }),
      otherBody: `${head}.${encode(claims)}.${signature}`,
      noSignature: `${head}.${body}.`,
      ownKey: await stranger.token({ aud: AUD }, { jwk: stranger.jwks.keys[0] }),
      otherAlgorithm: `${encode({ alg: "RS512", kid: jwk.kid })}.${body}.${signature}`,
      critical: await issuer.token({ aud: AUD }, { crit: ["exp"] }).catch(() => "a.b.c"),
    };
    for (const [name, token] of Object.entries(forged)) {
      assert.match(why(await verifier.verify(token)), /cannot be (?:verified|read)/, name);
    }
  });

  it("refuses a token with another audience, an unknown issuer, or outside of its time", async () => {
    const { issuer, verifier } = await setUp();
    const now = Math.floor(Date.now() / 1000);
    const cases: [Record<string, unknown>, RegExp][] = [
      [{}, /audience is another server/],
      [{ aud: "https://tools.example.com" }, /audience is another server/],
      [{ aud: "https://tools.example.com/mcp/" }, /audience is another server/],
      [{ aud: ["https://other.example.com/mcp"] }, /audience is another server/],
      [{ aud: AUD, iss: "https://evil.example.com" }, /issuer is not known/],
      [{ aud: AUD, iss: "https://login.example.com.evil.example" }, /issuer is not known/],
      [{ aud: AUD, iss: undefined }, /issuer is not known/],
      [{ aud: AUD, iss: ["https://login.example.com"] }, /./],
      [{ aud: AUD, exp: now - 60 }, /has expired/],
      [{ aud: AUD, exp: undefined }, /not right/],
      [{ aud: AUD, exp: "never" }, /./],
      [{ aud: AUD, nbf: now + 60 }, /not valid yet/],
      [{ aud: AUD, sub: undefined }, /whose it is/],
      [{ aud: AUD, sub: "" }, /whose it is/],
      [{ aud: AUD, cnf: { jkt: "x" } }, /bound to a key/],
    ];
    for (const [claims, expected] of cases) {
      const verdict = await verifier.verify(await issuer.token(claims));
      assert.match(why(verdict), expected, JSON.stringify(claims));
      assert.equal(verdict.kind, "invalid", JSON.stringify(claims));
    }
    const logout = await issuer.token({ aud: AUD }, { typ: "logout+jwt" });
    assert.match(why(await verifier.verify(logout)), /not an access token/);
    const access = await issuer.token({ aud: [AUD, "x"] }, { typ: "at+jwt" });
    assert.equal((await verifier.verify(access)).kind, "valid");
  });

  it("refuses text that is not a token", async () => {
    const { issuer, verifier } = await setUp();
    const body = encode({ iss: issuer.issuer });
    const garbage = [
      ...[
        "",
        ".",
        "..",
        "a.b.c",
        "....",
        `${encode([])}.${body}.`,
        `${encode({ typ: 1 })}.${body}.`,
      ],
      ...[`${encode({ alg: "ES256" })}.${encode([])}.x`, `${"e".repeat(9000)}.e.e`, "a.b.c.d.e"],
    ];
    for (const token of garbage)
      assert.equal((await verifier.verify(token)).kind, "invalid", token);
    assert.deepEqual(issuer.fetched, []);
  });

  it("requires every configured scope, in either spelling", async () => {
    const { issuer, verifier } = await setUp("ES256", { scopes: ["mcp:use", "x"] });
    const kindOf = async (claims: object) =>
      (await verifier.verify(await issuer.token({ aud: AUD, ...claims }))).kind;
    assert.equal(await kindOf({ scope: "openid x mcp:use" }), "valid");
    assert.equal(await kindOf({ scp: ["x", "mcp:use"] }), "valid");
    for (const claims of [{}, { scope: "x" }, { scope: "mcp:user x" }, { scp: ["x mcp:use"] }]) {
      assert.equal(await kindOf(claims), "insufficient", JSON.stringify(claims));
    }
  });

  it("accepts the configured audience beside its own", async () => {
    const { issuer, verifier } = await setUp("ES256", { audience: "api://tools" });
    for (const aud of ["api://tools", AUD]) {
      assert.equal((await verifier.verify(await issuer.token({ aud }))).kind, "valid");
    }
  });
});
