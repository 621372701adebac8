import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { describe, it } from "node:test";

import { challenge, readBearer } from "./bearer.ts";

/** A request as Node would have it. */
function withHeaders(...values: string[]): IncomingMessage {
  return {
    headers: values.length === 0 ? {} : { authorization: values[0] },
    rawHeaders: values.flatMap((value) => ["Authorization", value]),
  } as unknown as IncomingMessage;
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

  it("reads nothing else", () => {
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
    assert.equal(readBearer(withHeaders("Bearer a", "Bearer b")), "unreadable");
  });
});

describe("challenge()", () => {
  it("says what is needed and where that is given out", () => {
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
