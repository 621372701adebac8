import type { JsonGeneralName } from "@peculiar/x509";
import {
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  type X509Certificate,
} from "node:crypto";
import { isIP } from "node:net";

import { loadX509 } from "./load-x509.ts";
import { TrunklineError } from "../../../base/errors.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** How long a certificate of ours is good. */
const LIFETIME = 365 * DAY;

export type KeyType = "ed25519" | "p256";

/** The certificate that others are signed under, and the key that does it. */
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
  /** The certificate that this one follows; it goes on to speak for the same hosts. */
  readonly old?: X509Certificate | undefined;
}

export function newKey(type: KeyType): string {
  const { privateKey } =
    type === "p256"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("ed25519");
  return privateKey.export({ type: "pkcs8", format: "pem" });
}

/**
 * The certificate of an authority, signed by itself. One that follows another has the same key, name
 * and key id, so that all that either has signed is good under both.
 */
export async function issueAuthority(
  key: KeyObject,
  now: number,
  old?: X509Certificate,
): Promise<string> {
  const x509 = await loadX509();
  const before = old === undefined ? undefined : new x509.X509Certificate(old.raw);
  const subject = before?.subjectName ?? nameOf("Orchestra CA");
  const keys = cryptoKeys(key);
  const keyId =
    before?.getExtension(x509.SubjectKeyIdentifierExtension) ??
    (await x509.SubjectKeyIdentifierExtension.create(keys.public));
  const usages = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign;
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity(now),
    subject,
    issuer: subject,
    publicKey: keys.public,
    signingKey: keys.private,
    signingAlgorithm: keys.algorithm,
    extensions: [
      before?.getExtension(x509.BasicConstraintsExtension) ??
        new x509.BasicConstraintsExtension(true, 1, true),
      new x509.KeyUsagesExtension(usages, true),
      keyId,
    ],
  });
  return `${certificate.toString("pem")}\n`;
}

/** A certificate for one name, good for both sides of a connection. */
export async function issueLeaf(signer: Signer, options: LeafOptions): Promise<string> {
  const { name, key, hosts, unit, now, old } = options;
  const x509 = await loadX509();
  const issuer = new x509.X509Certificate(signer.certificate.raw);
  const id = issuer.getExtension(x509.SubjectKeyIdentifierExtension);
  const signing = cryptoKeys(signer.key);
  const before = old === undefined ? undefined : new x509.X509Certificate(old.raw);
  const spoken = before?.getExtension(x509.SubjectAlternativeNameExtension)?.names.toJSON() ?? [];
  const wanted = [name, "localhost", "127.0.0.1", "::1", ...hosts].map(generalName);
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity(now),
    subject: unit === undefined && before !== undefined ? before.subjectName : nameOf(name, unit),
    issuer: issuer.subjectName,
    publicKey: cryptoKeys(key).public,
    signingKey: signing.private,
    signingAlgorithm: signing.algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        x509.ExtendedKeyUsage.serverAuth,
        x509.ExtendedKeyUsage.clientAuth,
      ]),
      new x509.SubjectAlternativeNameExtension(withoutDoubles([...wanted, ...spoken])),
      ...(id === null ? [] : [new x509.AuthorityKeyIdentifierExtension(id.keyId)]),
    ],
  });
  return `${certificate.toString("pem")}\n`;
}

function nameOf(name: string, unit?: string): Record<string, string[]>[] {
  return [{ O: ["Orchestra"] }, ...(unit === undefined ? [] : [{ OU: [unit] }]), { CN: [name] }];
}

/** It begins a little before now: clocks differ. */
function validity(now: number): { serialNumber: string; notBefore: Date; notAfter: Date } {
  const serial = randomBytes(16);
  // Positive, and not shorter than it looks.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  return {
    serialNumber: serial.toString("hex"),
    notBefore: new Date(now - MINUTE),
    notAfter: new Date(now + LIFETIME),
  };
}

function cryptoKeys(key: KeyObject): {
  readonly private: CryptoKey;
  readonly public: CryptoKey;
  readonly algorithm: SigningAlgorithm;
} {
  const algorithm = signingAlgorithm(key);
  return {
    private: key.toCryptoKey(algorithm, false, ["sign"]),
    public: createPublicKey(key).toCryptoKey(algorithm, true, ["verify"]),
    algorithm,
  };
}

function generalName(host: string): JsonGeneralName {
  return { type: isIP(host) === 0 ? "dns" : "ip", value: host };
}

function withoutDoubles(names: readonly JsonGeneralName[]): JsonGeneralName[] {
  return [...new Map(names.map((name) => [`${name.type} ${name.value}`, name])).values()];
}

interface SigningAlgorithm {
  readonly name: string;
  readonly namedCurve?: string;
  readonly hash: string;
}

const CURVES: Readonly<Record<string, SigningAlgorithm>> = {
  prime256v1: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  secp384r1: { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" },
  secp521r1: { name: "ECDSA", namedCurve: "P-521", hash: "SHA-512" },
};

/** How a key signs, in the words of Web Crypto. */
function signingAlgorithm({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details,
}: KeyObject): SigningAlgorithm {
  if (type === "ed25519") return { name: "Ed25519", hash: "SHA-512" };
  if (type === "rsa") return { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const curve = CURVES[details?.namedCurve ?? ""];
  if (type === "ec" && curve !== undefined) return curve;
  const what = details?.namedCurve ?? type ?? "unknown";
  const known = "Ed25519, P-256, P-384, P-521 and RSA";
  throw new TrunklineError("config", `Cannot use a key of kind '${what}'. Known: ${known}`);
}
