import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { attempt } from "../../../base/attempt.ts";

/**
 * What a grant is about: session, move, epoch, SHA-256 of the bundle, and the target's public key. The target
 * runs the session only with a grant of the source for exactly this.
 */
export type GrantTerms = readonly [string, string, number, string, string];

/** The key by which other machines know this data folder. */
export class HostKey {
  readonly public: string;
  readonly #pem: string;

  private constructor(pem: string) {
    this.#pem = pem;
    const key = createPublicKey(pem).export({ type: "spki", format: "der" });
    this.public = key.toString("base64");
  }

  /** Reads it, or makes it where there is none. */
  static async open(data: string): Promise<HostKey> {
    const path = join(data, "host-key.pem");
    const known = await readFile(path, "utf8").catch(() => undefined);
    if (known !== undefined) return new HostKey(known);
    const made = `${path}.${crypto.randomUUID()}`;
    const { privateKey } = generateKeyPairSync("ed25519");
    await writeFile(made, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    // Another process may have made one meanwhile, which stays.
    await link(made, path).catch(() => {});
    await rm(made, { force: true });
    return new HostKey(await readFile(path, "utf8"));
  }

  grant(terms: GrantTerms): string {
    return sign(null, textOf(terms), createPrivateKey(this.#pem)).toString("base64");
  }
}

/** Whether the host with a key has granted it. */
export function isGranted(terms: GrantTerms, key: string, grant: string): boolean {
  const encoded = { key: Buffer.from(key, "base64"), type: "spki", format: "der" } as const;
  const signature = Buffer.from(grant, "base64");
  return attempt(() => verify(null, textOf(terms), createPublicKey(encoded), signature)) === true;
}

function textOf(terms: GrantTerms): Buffer {
  return Buffer.from(`trunkline-move ${JSON.stringify(terms)}`);
}
