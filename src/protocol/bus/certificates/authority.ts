import type { KeyObject, X509Certificate } from "node:crypto";

import { TrunklineError } from "../../../base/errors.ts";
import type { CertificateFiles, FilePair } from "./certificate-files.ts";
import { type Signer, issueAuthority, newKey } from "./issue.ts";
import { checkPair, parseCertificates, parseKey, Unusable } from "./certificate-files.ts";
import { dayOf, RENEW_AUTHORITY, type Renewal } from "./renewal.ts";
import { SETTLE, settled } from "./certificate-files.ts";

/** The authority that signs certificates, and the others that are trusted: all of `ca.crt`. */
export class Authority {
  readonly pem: string;
  /** The first certificate of the file, which signs. */
  readonly certificate: X509Certificate;
  readonly #all: readonly X509Certificate[];
  /** Without a key it can check certificates, but not issue any. */
  readonly #key: KeyObject | undefined;
  readonly #pair: FilePair;

  constructor(pair: FilePair, pem: string, keyPem: string | undefined) {
    const [first, ...others] = parseCertificates(pair.certificate, pem);
    if (!first.ca) {
      throw new Unusable(`the first certificate in '${pair.certificate}' is not an authority's`);
    }
    this.#key = keyPem === undefined ? undefined : parseKey(pair.key, keyPem);
    if (this.#key !== undefined) checkPair(pair, first, this.#key);
    this.pem = pem;
    this.certificate = first;
    this.#all = [first, ...others];
    this.#pair = pair;
  }

  static async load(
    files: CertificateFiles,
    renewal: Renewal,
    isMade: boolean,
  ): Promise<Authority> {
    const pair = files.pair("ca");
    return settled(files, pair, async ({ certificate: pem, key: keyPem, age }) => {
      if (pem === undefined) {
        if (keyPem === undefined && !isMade) throw noAuthority(files.folder);
        // One file is created at a time, and never replaces one that another program has created meanwhile.
        if (keyPem === undefined) await files.create(pair.key, newKey("ed25519"));
        else {
          const made = issueAuthority(parseKey(pair.key, keyPem), renewal.now());
          await files.create(pair.certificate, made);
        }
        return undefined;
      }
      if (keyPem === undefined && age < SETTLE) throw new Unusable(`'${pair.key}' is missing`);
      const authority = new Authority(pair, pem, keyPem);
      if (!renewal.isDue(authority.certificate, RENEW_AUTHORITY)) return authority;
      return (await authority.#renew(files, renewal)) ? undefined : authority;
    });
  }

  /** The signer of a certificate for the file `path`. */
  signer(path: string): Signer {
    if (this.#key !== undefined) return { certificate: this.certificate, key: this.#key };
    const missing = this.#pair.key;
    const next = `Make it where '${missing}' is, and copy it here with its key`;
    throw new TrunklineError("config", `Cannot make '${path}': '${missing}' is not there. ${next}`);
  }

  /** Why it cannot sign; undefined if it can. */
  get hindrance(): string | undefined {
    return this.#key === undefined ? `'${this.#pair.key}' is not there` : undefined;
  }

  checkSigned(path: string, certificate: X509Certificate): void {
    const hasSigned = (issuer: X509Certificate): boolean =>
      certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
    if (this.#all.some(hasSigned)) return;
    throw new Unusable(`'${path}' is not signed by the authority in '${this.#pair.certificate}'`);
  }

  /** False if it cannot be renewed; it is then used until it expires. */
  async #renew(files: CertificateFiles, renewal: Renewal): Promise<boolean> {
    const { certificate } = this;
    const path = this.#pair.certificate;
    const isOwn = certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
    const hindrance = this.hindrance ?? (isOwn ? undefined : "another authority signed it");
    if (hindrance !== undefined) {
      renewal.giveUp(path, certificate, `expires on ${dayOf(certificate)}`, hindrance);
      return false;
    }
    const made = issueAuthority(this.signer(path).key, renewal.now(), certificate);
    // Older certificates of the same key are covered by the new one.
    const others = this.#all.filter((other) => !other.publicKey.equals(certificate.publicKey));
    await files.replace(path, made + others.map(String).join(""));
    return true;
  }
}

/** A new authority would be of no use: the other side trusts the one that it has. */
function noAuthority(folder: string): TrunklineError {
  const why = `There is no authority in '${folder}': 'ca.crt' is missing`;
  const next =
    "The orchestrator makes it when it starts: start it, or name its folder with --certs-dir";
  return new TrunklineError("config", `${why}. ${next}.`);
}
