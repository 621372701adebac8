import type { KeyObject } from "node:crypto";

import { TrunklineError } from "../../../base/errors.ts";

export interface SigningAlgorithm {
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
export function signingAlgorithm({
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
