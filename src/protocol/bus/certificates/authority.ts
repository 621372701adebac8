import type { KeyObject, X509Certificate } from "node:crypto";

import { TrunklineError } from "../../../base/errors.ts";
import type { CertificateFiles, FilePair } from "./certificate-files.ts";
import { type Signer, issueAuthority, newKey } from "./issue.ts";
import { checkPair, parseCertificates, parseKey, Unusable } from "./certificate-files.ts";
import { dayOf, RENEW_AUTHORITY, type Renewal } from "./renewal.ts";
import { SETTLE, settled } from "./certificate-files.ts";

/** Who signs certificates, and who else is trusted: all that is in `ca.crt`. */
export class Authority {
  readonly pem: string;
  /** The first signs. */
  readonly certificate: X509Certificate;
  readonly #all: readonly X509Certificate[];
  /** Without it certificates can be checked, but none made. */
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
        // Either is made at a time: what another program made meanwhile stands.
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

  /** What signs a certificate that is to be `path`. */
  signer(path: string): Signer {
    if (this.#key !== undefined) return { certificate: this.certificate, key: this.#key };
    const missing = this.#pair.key;
    const next = `Make it where '${missing}' is, and copy it here with its key`;
    throw new TrunklineError("config", `Cannot make '${path}': '${missing}' is not there. ${next}`);
  }

  /** Why it cannot sign, if it cannot. */
  get hindrance(): string | undefined {
    return this.#key === undefined ? `'${this.#pair.key}' is not there` : undefined;
  }

  checkSigned(path: string, certificate: X509Certificate): void {
    const hasSigned = (issuer: X509Certificate): boolean =>
      certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
    if (this.#all.some(hasSigned)) return;
    throw new Unusable(`'${path}' is not signed by the authority in '${this.#pair.certificate}'`);
  }

  /** False when it cannot be renewed: then it is used as long as it lasts. */
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
    // Those with the same key say no more than the new one does, and less long.
    const others = this.#all.filter((other) => !other.publicKey.equals(certificate.publicKey));
    await files.replace(path, made + others.map(String).join(""));
    return true;
  }
}

/** With an authority of our own we could not connect: the other side trusts another. */
function noAuthority(folder: string): TrunklineError {
  const why = `There is no authority in '${folder}': 'ca.crt' is missing`;
  const next =
    "The orchestrator makes it when it starts: start it, or name its folder with --certs-dir";
  return new TrunklineError("config", `${why}. ${next}.`);
}
