import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  type KeyObject,
  type X509Certificate,
} from "node:crypto";
import { isIP } from "node:net";
import { addressBytes } from "../../../base/address.ts";
import { TrunklineError } from "../../../base/errors.ts";

/**
 * ASN.1 values in DER (X.690), as far as certificates need them. A library that does the same takes
 * a tenth of a second to load, and 25 ms for each certificate.
 */
export type Der = Buffer<ArrayBuffer>;

const SEQUENCE = 0x30;
const FIRST_OF_2050 = Date.UTC(2050, 0);

/** A value by its tag (X.690, 8.1). */
export function tagged(tag: number, ...content: readonly Uint8Array[]): Der {
  const bytes = Buffer.concat(content);
  if (bytes.length < 0x80) return Buffer.concat([Uint8Array.of(tag, bytes.length), bytes]);
  const hex = bytes.length.toString(16);
  const length = Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex");
  return Buffer.concat([Uint8Array.of(tag, 0x80 | length.length), length, bytes]);
}

export function sequence(...items: readonly Uint8Array[]): Der {
  return tagged(SEQUENCE, ...items);
}

/** From its bytes, which begin with one below 0x80: it is positive. */
export function integer(bytes: Uint8Array): Der {
  return tagged(0x02, bytes);
}

export function octets(bytes: Uint8Array): Der {
  return tagged(0x04, bytes);
}

export function bits(bytes: Uint8Array, unused = 0): Der {
  return tagged(0x03, Uint8Array.of(unused), bytes);
}

/** An object identifier (X.690, 8.19) from its numbers with dots between them. */
export function identifier(text: string): Der {
  const [first = 0, second = 0, ...others] = text.split(".").map(Number);
  const bytes = [40 * first + second, ...others].flatMap((number) => {
    const digits = [number & 0x7f];
    for (let rest = number >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80);
    return digits;
  });
  return tagged(0x06, Uint8Array.from(bytes));
}

/** RFC 5280, 4.1.2.5: two digits of the year until 2049. */
export function time(date: number): Der {
  const digits = new Date(date).toISOString().replace(/\.\d+|[-:T]/g, "");
  const isShort = date < FIRST_OF_2050;
  return tagged(isShort ? 0x17 : 0x18, Buffer.from(isShort ? digits.slice(2) : digits, "latin1"));
}

/** A value that was read: its tag, its content, and all its bytes. */
export interface DerValue {
  readonly tag: number;
  readonly content: Der;
  readonly whole: Der;
}

/** The values that follow each other in bytes that are known to be DER, such as those of a certificate. */
export function readValues(bytes: Der): DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length;) {
    const tag = bytes.readUInt8(at);
    const short = bytes.readUInt8(at + 1);
    const more = short < 0x80 ? 0 : short & 0x7f;
    const length = more === 0 ? short : bytes.readUIntBE(at + 2, more);
    const begin = at + 2 + more;
    const whole = bytes.subarray(at, begin + length);
    values.push({ tag, content: bytes.subarray(begin, begin + length), whole });
    at = begin + length;
  }
  return values;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** How long our certificates are valid. */
const LIFETIME = 365 * DAY;
/** The number that stands for version 3. */
const VERSION_3 = 2;

/** The certificate and key of the authority that signs. */
export interface Signer {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
}

export interface LeafOptions {
  readonly name: string;
  readonly key: KeyObject;
  readonly hosts: readonly string[];
  /** The organizational unit of its subject. */
  readonly unit?: string | undefined;
  readonly now: number;
  /** The certificate that this one renews, for the same hosts and more. */
  readonly old?: X509Certificate | undefined;
}

export function newKey(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
}

/** Object identifiers of extensions (RFC 5280, 4.2.1). */
const KEY_ID = "2.5.29.14";
const KEY_USAGE = "2.5.29.15";
const OTHER_NAMES = "2.5.29.17";
const CONSTRAINTS = "2.5.29.19";
const SIGNER_ID = "2.5.29.35";
const EXTENDED_USAGE = "2.5.29.37";
const BOTH_SIDES = ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"];
const YES = Buffer.of(0x01, 0x01, 0xff);

/** Parts of the subject's name (X.520). */
const ORGANIZATION = "2.5.4.10";
const UNIT = "2.5.4.11";
const COMMON_NAME = "2.5.4.3";

/**
 * The self-signed certificate of an authority. A renewed one has the same key, name and key id, so that
 * whatever either has signed is valid under both.
 */
export function issueAuthority(key: KeyObject, now: number, old?: X509Certificate): string {
  const before = old && partsOf(old);
  const subject = before?.subject ?? nameOf("Orchestra CA");
  const publicKey = createPublicKey(key);
  const constraints = extension(CONSTRAINTS, sequence(YES, integer(Buffer.of(1))), true);
  return signed({ subject, key }, { subject, publicKey, now }, [
    before?.extensions.get(CONSTRAINTS) ?? constraints,
    // To sign certificates, and lists of revoked ones.
    extension(KEY_USAGE, bits(Buffer.of(0x06), 1), true),
    before?.extensions.get(KEY_ID) ?? extension(KEY_ID, octets(keyIdOf(publicKey))),
  ]);
}

/** A certificate for one name, valid for clients and servers. */
export function issueLeaf(signer: Signer, options: LeafOptions): string {
  const { name, key, hosts, unit, now, old } = options;
  const issuer = partsOf(signer.certificate);
  const before = old && partsOf(old);
  const subject = unit === undefined && before !== undefined ? before.subject : nameOf(name, unit);
  const spoken = before?.extensions.get(OTHER_NAMES);
  const names = [name, "localhost", "127.0.0.1", "::1", ...hosts].map(generalName);
  if (spoken !== undefined) names.push(...itemsOf(valueOf(spoken)));
  const signerId = issuer.extensions.get(KEY_ID);
  const publicKey = createPublicKey(key);
  return signed({ subject: issuer.subject, key: signer.key }, { subject, publicKey, now }, [
    extension(CONSTRAINTS, sequence(), true),
    // digitalSignature: for the handshake.
    extension(KEY_USAGE, bits(Buffer.of(0x80), 7), true),
    extension(EXTENDED_USAGE, sequence(...BOTH_SIDES.map(identifier))),
    extension(OTHER_NAMES, sequence(...withoutDoubles(names))),
    ...(signerId === undefined ? [] : [extension(SIGNER_ID, sequence(keyIdIn(signerId)))]),
  ]);
}

/** A certificate in PEM (RFC 5280, 4.1). */
function signed(
  issuer: { readonly subject: Der; readonly key: KeyObject },
  options: { readonly subject: Der; readonly publicKey: KeyObject; readonly now: number },
  extensions: readonly Der[],
): string {
  const { subject, publicKey, now } = options;
  const { hash, algorithm } = signatureOf(issuer.key);
  const serial = randomBytes(16);
  // A positive number without a leading zero byte.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const content = sequence(
    tagged(0xa0, integer(Buffer.of(VERSION_3))),
    integer(serial),
    algorithm,
    issuer.subject,
    // A minute ago: clocks differ.
    sequence(time(now - MINUTE), time(now + LIFETIME)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensions)),
  );
  const whole = sequence(content, algorithm, bits(sign(hash, content, issuer.key)));
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function nameOf(name: string, unit?: string): Der {
  const part = (kind: string, text: string): Der =>
    tagged(0x31, sequence(identifier(kind), tagged(0x0c, Buffer.from(text, "utf8"))));
  const units = unit === undefined ? [] : [part(UNIT, unit)];
  return sequence(part(ORGANIZATION, "Orchestra"), ...units, part(COMMON_NAME, name));
}

function extension(kind: string, value: Der, isCritical = false): Der {
  return sequence(identifier(kind), ...(isCritical ? [YES] : []), octets(value));
}

/** The subject and the extensions of a certificate, as bytes: a renewed one repeats them exactly. */
function partsOf({ raw }: X509Certificate): {
  readonly subject: Der;
  readonly extensions: ReadonlyMap<string, Der>;
} {
  const [content] = itemsOf(raw);
  const fields = readValues(readValues(content ?? raw)[0]?.content ?? raw);
  // Version, serial number, algorithm, issuer, validity, subject. The oldest have no version.
  const subject = fields[fields[0]?.tag === 0xa0 ? 5 : 4]?.whole ?? sequence();
  const found = fields.find(({ tag }) => tag === 0xa3);
  const known = [KEY_ID, OTHER_NAMES, CONSTRAINTS];
  const extensions = new Map<string, Der>();
  for (const each of found === undefined ? [] : itemsOf(found.content)) {
    const [kind] = itemsOf(each);
    const name = known.find((one) => kind?.equals(identifier(one)));
    if (name !== undefined) extensions.set(name, each);
  }
  return { subject, extensions };
}

/** The items of a sequence. */
function itemsOf(bytes: Der): Der[] {
  return readValues(readValues(bytes)[0]?.content ?? bytes).map(({ whole }) => whole);
}

/** The value of an extension, which comes last, after its kind and whether it is critical. */
function valueOf(bytes: Der): Der {
  return readValues(itemsOf(bytes).at(-1) ?? bytes)[0]?.content ?? bytes;
}

/** The id of a key in its extension, as those have it that are signed with the key (RFC 5280, 4.2.1.1). */
function keyIdIn(keyId: Der): Der {
  return tagged(0x80, readValues(valueOf(keyId))[0]?.content ?? keyId);
}

/** RFC 5280, 4.2.1.2: the hash of the key's bits. */
function keyIdOf(publicKey: KeyObject): Der {
  const [, key] = readValues(
    readValues(publicKey.export({ type: "spki", format: "der" }))[0]?.content ?? Buffer.of(),
  );
  return createHash("sha1")
    .update(key?.content.subarray(1) ?? Buffer.of())
    .digest();
}

function generalName(host: string): Der {
  return isIP(host) === 0
    ? tagged(0x82, Buffer.from(host, "latin1"))
    : tagged(0x87, addressBytes(host));
}

function withoutDoubles(names: readonly Der[]): Der[] {
  return [...new Map(names.map((name) => [name.toString("hex"), name])).values()];
}

interface Signature {
  readonly hash: string | null;
  readonly algorithm: Der;
}

const CURVES: Readonly<Record<string, Signature>> = {
  prime256v1: { hash: "sha256", algorithm: sequence(identifier("1.2.840.10045.4.3.2")) },
  secp384r1: { hash: "sha384", algorithm: sequence(identifier("1.2.840.10045.4.3.3")) },
  secp521r1: { hash: "sha512", algorithm: sequence(identifier("1.2.840.10045.4.3.4")) },
};
const ED25519: Signature = { hash: null, algorithm: sequence(identifier("1.3.101.112")) };
const RSA: Signature = {
  hash: "sha256",
  algorithm: sequence(identifier("1.2.840.113549.1.1.11"), tagged(0x05)),
};

/** How a key signs (RFC 4055, RFC 5758 and RFC 8410). */
function signatureOf({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details,
}: KeyObject): Signature {
  if (type === "ed25519") return ED25519;
  if (type === "rsa") return RSA;
  const curve = CURVES[details?.namedCurve ?? ""];
  if (type === "ec" && curve !== undefined) return curve;
  const what = details?.namedCurve ?? type ?? "unknown";
  const known = "Ed25519, P-256, P-384, P-521 and RSA";
  throw new TrunklineError("config", `Cannot use a key of kind '${what}'. Known: ${known}`);
}
