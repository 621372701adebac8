import { createECDH, createPrivateKey, sign } from "node:crypto";

/**
 * The key by which push services know this gateway (RFC 8292): on P-256, as the private number alone.
 * It belongs to subscriptions: with another one, all browsers have to subscribe again.
 */
export class VapidKey {
  /** The uncompressed public key as base64url, which browsers subscribe with. */
  readonly publicKey: string;
  readonly #private: string;

  /** `secret` is the private key as base64url. */
  constructor(secret: string) {
    const pair = createECDH("prime256v1");
    pair.setPrivateKey(Buffer.from(secret, "base64url"));
    this.#private = secret;
    this.publicKey = pair.getPublicKey("base64url");
  }

  /** A new secret. */
  static create(): string {
    const pair = createECDH("prime256v1");
    pair.generateKeys();
    // The number may be shorter than 32 bytes, which JWK does not allow.
    return Buffer.from(pair.getPrivateKey("hex").padStart(64, "0"), "hex").toString("base64url");
  }

  /** RFC 8292, section 3: the `Authorization` header for a push service. `subject` says whom to contact. */
  authorization(endpoint: string, subject: string, now = Date.now()): string {
    const claims = {
      aud: new URL(endpoint).origin,
      // At most 24 hours ahead; clocks differ.
      exp: Math.floor(now / 1000) + 12 * 60 * 60,
      sub: subject,
    };
    const signed = `${encode({ typ: "JWT", alg: "ES256" })}.${encode(claims)}`;
    const point = Buffer.from(this.publicKey, "base64url");
    const key = createPrivateKey({
      format: "jwk",
      key: {
        kty: "EC",
        crv: "P-256",
        x: point.subarray(1, 33).toString("base64url"),
        y: point.subarray(33).toString("base64url"),
        d: this.#private,
      },
    });
    const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
    return `vapid t=${signed}.${signature.toString("base64url")}, k=${this.publicKey}`;
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
