import assert from "node:assert/strict";
import { createECDH, randomBytes } from "node:crypto";
import { describe, it } from "node:test";

import { decryptPush } from "../../../../test/support/push-browser.ts";
import { encryptPush, LARGEST_PUSH, readPushKeys } from "./encrypt-push.ts";

const bytes = (text: string): Buffer => Buffer.from(text, "base64url");

describe("encryptPush()", () => {
  it("gives the example of RFC 8291, section 5 and appendix A", () => {
    const keys = {
      p256dh:
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
      auth: "BTBZMqHH6r4Tts7J_aSIgg",
    };
    const encrypted = encryptPush(Buffer.from("When I grow up, I want to be a watermelon"), keys, {
      salt: bytes("DGv6ra1nlYgDCS1FRnbzlw"),
      privateKey: bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
      paddedTo: 1,
    });
    assert.equal(
      encrypted.toString("base64url"),
      "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
    );
  });

  it("pads texts to few lengths, which the browser takes off again", () => {
    const browser = createECDH("prime256v1");
    browser.generateKeys();
    const auth = randomBytes(16);
    const keys = { p256dh: browser.getPublicKey("base64url"), auth: auth.toString("base64url") };
    const lengths = [1, 400, 1024, 1025, 2048, 3500, LARGEST_PUSH].map((length) => {
      // With bytes that look like the delimiter and like padding.
      const text = Buffer.alloc(length, Buffer.of(2, 0));
      const encrypted = encryptPush(text, keys);
      assert.deepEqual(decryptPush(encrypted, browser, auth), text);
      return encrypted.length;
    });
    assert.deepEqual(lengths, [1127, 1127, 1127, 2151, 2151, 4096, 4096]);
  });

  it("can be read by the browser alone, up to the largest message", () => {
    const browser = createECDH("prime256v1");
    browser.generateKeys();
    const auth = randomBytes(16);
    const keys = { p256dh: browser.getPublicKey("base64url"), auth: auth.toString("base64url") };
    const text = randomBytes(LARGEST_PUSH);
    const encrypted = encryptPush(text, keys);
    assert.equal(encrypted.length, 4096);
    assert.deepEqual(decryptPush(encrypted, browser, auth), text);
    assert.throws(() => decryptPush(encrypted, browser, randomBytes(16)));
    assert.throws(() => encryptPush(Buffer.concat([text, text]), keys), /3993 fit/);
  });
});

describe("readPushKeys()", () => {
  it("refuses a point that is not on the curve, and keys of a wrong length", () => {
    const auth = randomBytes(16).toString("base64url");
    const off = Buffer.concat([Buffer.of(4), randomBytes(64)]).toString("base64url");
    for (const p256dh of [off, "", "BCVx"]) {
      assert.throws(() => readPushKeys({ p256dh, auth }), { code: "usage" });
    }
  });
});
