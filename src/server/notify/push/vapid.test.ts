import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { jwtVerify } from "jose";

import { VapidKey } from "./vapid.ts";

/** Other people's implementation; it has no types of its own. */
interface WebPush {
  getVapidHeaders(
    audience: string,
    subject: string,
    publicKey: string,
    privateKey: string,
    coding: "aes128gcm",
  ): { readonly Authorization: string };
}

const webPush = createRequire(import.meta.url)("web-push") as WebPush;
const ENDPOINT = "https://push.example.org/send/abc";
const PARTS = /^vapid t=([\w.-]+), k=([\w-]+)$/;

async function claimsOf(header: string, key: string): Promise<object> {
  const [, token = "", sent = ""] = PARTS.exec(header) ?? [];
  assert.equal(sent, key);
  const point = Buffer.from(key, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) =>
    half.toString("base64url"),
  );
  const jwk = { kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "" };
  const { payload } = await jwtVerify(token, createPublicKey({ format: "jwk", key: jwk }), {
    audience: "https://push.example.org",
    typ: "JWT",
  });
  return payload;
}

describe("VapidKey", () => {
  it("signs for the push service's origin, as the package web-push does", async () => {
    const secret = VapidKey.create();
    const key = new VapidKey(secret);
    const ours = await claimsOf(
      key.authorization(ENDPOINT, "mailto:me@example.org"),
      key.publicKey,
    );
    const { Authorization: header } = webPush.getVapidHeaders(
      "https://push.example.org",
      "mailto:me@example.org",
      key.publicKey,
      secret,
      "aes128gcm",
    );
    const theirs = await claimsOf(header, key.publicKey);
    assert.deepEqual(Object.keys(ours).toSorted(), Object.keys(theirs).toSorted());
    assert.deepEqual({ ...ours, exp: 0 }, { ...theirs, exp: 0 });
    const { exp } = ours as { exp: number };
    assert.ok(exp * 1000 < Date.now() + 24 * 60 * 60_000, "RFC 8292, section 2: at most 24 hours");
  });
});
