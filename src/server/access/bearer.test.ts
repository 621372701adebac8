import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { describe, it } from "node:test";

import { challenge, readBearer } from "./access.ts";

/** A request as Node would have it. */
function withHeaders(authorization?: string): Pick<IncomingMessage, "headers"> {
  return { headers: authorization === undefined ? {} : { authorization } };
}

describe("readBearer()", () => {
  it("reads one token, however the scheme is spelt", () => {
    for (const text of [
      "Bearer abc.d-e_f~+/==",
      "bearer abc.d-e_f~+/==",
      "BEARER  abc.d-e_f~+/== ",
    ]) {
      assert.deepEqual(readBearer(withHeaders(text)), { token: "abc.d-e_f~+/==" }, text);
    }
    assert.equal(readBearer(withHeaders()), undefined);
  });

  it("reads no other header", () => {
    const wrong = ["", "Bearer", "Bearer ", "Basic abc", "abc", "Bearer a b", "Bearer a,b"];
    for (const text of [
      ...wrong,
      "Bearer é",
      "DPoP abc",
      "BearerX abc",
      "Bearer\tabc",
      'Bearer "a"',
    ]) {
      assert.equal(readBearer(withHeaders(text)), "unreadable", text);
    }
  });

  it("reads a token without a scheme if that is allowed", () => {
    assert.deepEqual(readBearer(withHeaders("abc"), true), { token: "abc" });
    assert.deepEqual(readBearer(withHeaders("Bearer abc"), true), { token: "abc" });
    for (const text of ["", "Basic abc", "a b", "a,b", 'Digest username="x"']) {
      assert.equal(readBearer(withHeaders(text), true), "unreadable", text);
    }
  });
});

describe("challenge()", () => {
  it("names the required scopes and the metadata", () => {
    assert.equal(challenge({}), `Bearer realm="trunkline"`);
    const told = challenge({
      error: "invalid_token",
      description: "It has expired",
      scopes: ["a", "b"],
      metadataUrl: "https://x/y",
    });
    const parts = `error="invalid_token", error_description="It has expired", scope="a b"`;
    assert.equal(told, `Bearer realm="trunkline", ${parts}, resource_metadata="https://x/y"`);
  });
});
