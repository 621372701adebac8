import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";

import type { FilePair } from "./certificate-files.ts";

/** A file that cannot be used as it is. It may still be being written. */
export class Unusable extends Error {}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** All certificates of a file; the first is the one that counts where only one can. */
export function parseCertificates(
  path: string,
  text: string,
): [X509Certificate, ...X509Certificate[]] {
  const [first, ...others] = (text.match(CERTIFICATE) ?? []).map((block) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw new Unusable(`'${path}' is not a certificate`, { cause: error });
    }
  });
  if (first === undefined) throw new Unusable(`there is no certificate in '${path}'`);
  return [first, ...others];
}

export function parseKey(path: string, text: string): KeyObject {
  if (text.includes("ENCRYPTED")) {
    throw new Unusable(`'${path}' is protected by a passphrase, which cannot be asked for here`);
  }
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new Unusable(`'${path}' is not a private key`, { cause: error });
  }
}

export function checkPair(pair: FilePair, certificate: X509Certificate, key: KeyObject): void {
  if (certificate.checkPrivateKey(key)) return;
  throw new Unusable(`'${pair.key}' is not the key of '${pair.certificate}'`);
}
