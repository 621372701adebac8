import { KeyObject, webcrypto } from "node:crypto";
import { createRequire } from "node:module";

import type * as X509 from "@peculiar/x509";

import type { Credentials } from "../../src/wire/quic/connection.ts";

// The library wants type metadata while it loads, and does without.
for (const name of ["getMetadata", "getOwnMetadata", "defineMetadata"]) {
  (Reflect as unknown as Record<string, unknown>)[name] ??= () => undefined;
}
const x509 = createRequire(import.meta.url)("@peculiar/x509") as typeof X509;
x509.cryptoProvider.set(webcrypto as never);

export type KeyKind = "Ed25519" | "P-256" | "RSA";

const ALGORITHMS = {
  Ed25519: { name: "Ed25519" },
  "P-256": { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  RSA: {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    publicExponent: new Uint8Array([1, 0, 1]),
    modulusLength: 2048,
  },
} as const;

const DAY = 24 * 60 * 60 * 1000;

export interface LeafOptions {
  readonly names?: readonly string[];
  readonly kind?: KeyKind;
  /** Days from now. */
  readonly from?: number;
  readonly to?: number;
}

interface Keys {
  readonly publicKey: webcrypto.CryptoKey;
  readonly privateKey: webcrypto.CryptoKey;
}

/** A certificate authority for tests. */
export class TestCa {
  readonly pem: string;
  readonly #subject: string;
  readonly #kind: KeyKind;
  readonly #keys: Keys;

  private constructor(pem: string, subject: string, kind: KeyKind, keys: Keys) {
    this.pem = pem;
    this.#subject = subject;
    this.#kind = kind;
    this.#keys = keys;
  }

  static async make(kind: KeyKind = "Ed25519", name = "Test CA"): Promise<TestCa> {
    const keys = await keysOf("ca", kind);
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      name: `O=Orchestra, CN=${name}`,
      keys,
      signingAlgorithm: ALGORITHMS[kind],
      notBefore: new Date(Date.now() - DAY),
      notAfter: new Date(Date.now() + 365 * DAY),
      extensions: [
        new x509.BasicConstraintsExtension(true, 1, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign),
      ],
    });
    return new TestCa(certificate.toString("pem"), certificate.subject, kind, keys);
  }

  /** A certificate of this CA with its key, and this CA to trust. */
  async issue(name: string, options: LeafOptions = {}): Promise<Required<Credentials>> {
    const { kind = "P-256", from = -1, to = 365 } = options;
    const names = options.names ?? [name, "localhost", "127.0.0.1", "::1"];
    const keys = await keysOf("leaf", kind);
    const certificate = await x509.X509CertificateGenerator.create({
      subject: `O=Orchestra, CN=${name}`,
      issuer: this.#subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ALGORITHMS[this.#kind],
      notBefore: new Date(Date.now() + from * DAY),
      notAfter: new Date(Date.now() + to * DAY),
      extensions: [
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([
          x509.ExtendedKeyUsage.serverAuth,
          x509.ExtendedKeyUsage.clientAuth,
        ]),
        new x509.SubjectAlternativeNameExtension(
          names.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? "ip" : "dns", value })),
        ),
      ],
    });
    return { ca: this.pem, cert: certificate.toString("pem"), key: keyPem(keys) };
  }
}

/** Those of RSA by whose they are: they take a hundred times as long as others, so they are made once. */
const slowKeys = new Map<string, Promise<Keys>>();

function keysOf(owner: "ca" | "leaf", kind: KeyKind): Promise<Keys> {
  if (kind !== "RSA") return makeKeys(kind);
  const keys = slowKeys.get(owner) ?? makeKeys(kind);
  slowKeys.set(owner, keys);
  return keys;
}

async function makeKeys(kind: KeyKind): Promise<Keys> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHMS[kind], true, ["sign", "verify"]);
  return keys as unknown as Keys;
}

function keyPem({ privateKey }: Keys): string {
  return KeyObject.from(privateKey).export({ type: "pkcs8", format: "pem" });
}
