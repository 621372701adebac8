import { createCipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";

import { TrunklineError } from "../../../base/errors.ts";

/** What a browser hands out when it subscribes, each as base64url. */
export interface PushKeys {
  /** The browser's public key on P-256, uncompressed. */
  readonly p256dh: string;
  readonly auth: string;
}

/** Chosen for each message; given by tests only. */
export interface PushChoices {
  readonly salt?: Buffer;
  readonly privateKey?: Buffer;
  /** Bytes: a text is padded to a multiple of it, as far as it fits. */
  readonly paddedTo?: number;
}

/** RFC 8291, section 4: push services need not take longer messages. */
const LARGEST_MESSAGE = 4096;
/** RFC 8188, section 2.1: salt, record size, length of the key, and the key itself. */
const HEADER = 16 + 4 + 1 + 65;
/** The delimiter after the text (RFC 8188, section 2), and the tag of AES-GCM. */
const TAIL = 1 + 16;
/** Bytes of text that fit in a message. */
export const LARGEST_PUSH = LARGEST_MESSAGE - HEADER - TAIL;
const LAST_RECORD = 2;
/** Most messages have the same length then, and the push service does not learn from it what one is about. */
const PADDED_TO = 1024;

/**
 * Encrypts a message for one browser: RFC 8291, in one record of the `aes128gcm` content coding of
 * RFC 8188. The push service cannot read it.
 */
export function encryptPush(text: Buffer, keys: PushKeys, choices: PushChoices = {}): Buffer {
  if (text.length > LARGEST_PUSH) {
    const why = `it has ${text.length} bytes, and ${LARGEST_PUSH} fit`;
    throw new TrunklineError("limit", `Cannot send the push message: ${why}.`);
  }
  const { p256dh: theirs, auth } = readPushKeys(keys);
  const { salt = randomBytes(16), privateKey, paddedTo = PADDED_TO } = choices;
  const own = createECDH("prime256v1");
  if (privateKey === undefined) own.generateKeys();
  else own.setPrivateKey(privateKey);
  const ours = own.getPublicKey();
  // RFC 8291, section 3.4.
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), theirs, ours]);
  const secret = hkdf(own.computeSecret(theirs), auth, info, 32);
  const key = hkdf(secret, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
  const nonce = hkdf(secret, salt, Buffer.from("Content-Encoding: nonce\0"), 12);
  const cipher = createCipheriv("aes-128-gcm", key, nonce);
  // RFC 8188, section 2: zeros after the delimiter.
  const padded = Math.min(LARGEST_PUSH, Math.ceil(text.length / paddedTo) * paddedTo);
  const end = Buffer.alloc(1 + padded - text.length);
  end.writeUInt8(LAST_RECORD);
  const body = [cipher.update(text), cipher.update(end), cipher.final()];
  const size = Buffer.alloc(5);
  size.writeUInt32BE(LARGEST_MESSAGE);
  size.writeUInt8(ours.length, 4);
  return Buffer.concat([salt, size, ours, ...body, cipher.getAuthTag()]);
}

/** Throws "usage" at keys that are none. A point that is not on the curve would reveal our key. */
export function readPushKeys({ p256dh, auth }: PushKeys): { p256dh: Buffer; auth: Buffer } {
  const read = { p256dh: Buffer.from(p256dh, "base64url"), auth: Buffer.from(auth, "base64url") };
  const probe = createECDH("prime256v1");
  probe.generateKeys();
  try {
    if (read.auth.length !== 16 || read.p256dh.length !== 65) throw new Error("wrong length");
    probe.computeSecret(read.p256dh);
  } catch (error) {
    const why = `its keys are not those of a push subscription`;
    throw new TrunklineError("usage", `Cannot use the subscription: ${why}.`, { cause: error });
  }
  return read;
}

function hkdf(key: Buffer, salt: Buffer, info: Buffer, length: number): Buffer {
  return Buffer.from(hkdfSync("sha256", key, salt, info, length));
}
