import { createDecipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from "node:crypto";

/** A browser's side of RFC 8291: reads the salt and the sender's key from the header, and decrypts. */
export function decryptPush(message: Buffer, browser: ECDH, auth: Buffer): Buffer {
  const salt = message.subarray(0, 16);
  const length = message.readUInt8(20);
  const sender = message.subarray(21, 21 + length);
  const sealed = message.subarray(21 + length);
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), browser.getPublicKey(), sender]);
  const secret = Buffer.from(hkdfSync("sha256", browser.computeSecret(sender), auth, info, 32));
  const derive = (name: string, size: number): Buffer =>
    Buffer.from(hkdfSync("sha256", secret, salt, `Content-Encoding: ${name}\0`, size));
  const decipher = createDecipheriv("aes-128-gcm", derive("aes128gcm", 16), derive("nonce", 12));
  decipher.setAuthTag(sealed.subarray(-16));
  const text = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  // RFC 8188, section 2: the delimiter of the last record, and zeros after it.
  const end = text.lastIndexOf(2);
  return text.subarray(0, end);
}

/** A browser that subscribes and decrypts what it is pushed. */
export class PushBrowser {
  readonly #keys = createECDH("prime256v1");
  readonly #auth = randomBytes(16);

  constructor() {
    this.#keys.generateKeys();
  }

  /** `PushSubscription.toJSON()`. */
  subscription(endpoint: string): {
    readonly endpoint: string;
    readonly expirationTime: null;
    readonly keys: { readonly p256dh: string; readonly auth: string };
  } {
    const p256dh = this.#keys.getPublicKey("base64url");
    return {
      endpoint,
      expirationTime: null,
      keys: { p256dh, auth: this.#auth.toString("base64url") },
    };
  }

  decrypt(message: Buffer): string {
    return decryptPush(message, this.#keys, this.#auth).toString();
  }
}
