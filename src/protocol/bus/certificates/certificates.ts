import type { KeyObject, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { TrunklineError } from "../../../base/errors.ts";
import {
  CertificateFiles,
  type FilePair,
  SETTLE,
  FileError,
  checkPair,
  parseCertificates,
  parseKey,
  settled,
} from "./certificate-files.ts";
import { type Signer, issueAuthority, issueLeaf, newKey } from "./issue.ts";
import type { Credentials } from "../../../wire/quic/connection.ts";

/** The organizational unit that marks the certificate of a plugin. */
export const PLUGIN_UNIT = "plugin";

const NAME = /^(?!ca$)[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;
const FORM = "letters, digits, '.', '_' and '-', not 'ca'";

/** The problem of a certificate's name, which is also a file name; undefined if there is none. */
export function problemOfName(name: string): string | undefined {
  return NAME.test(name) ? undefined : `use ${FORM}`;
}

export interface CertificatesOptions {
  /** Called with problems that do not prevent the use of certificates. */
  readonly warn?: (message: string) => void;
  /**
   * Whether a missing authority is created. False for a client: the program that it connects to has one.
   */
  readonly makesAuthority?: boolean;
  readonly now?: () => number;
}

export interface CertificateOptions {
  /** Hosts that it is valid for, in addition to its name and this machine. */
  readonly hosts?: readonly string[];
  /** The organizational unit, such as `PLUGIN_UNIT`. A certificate without it is issued again. */
  readonly unit?: string | undefined;
}

/** Credentials that are valid for a time. */
export interface IssuedCredentials extends Credentials {
  readonly cert: string;
  readonly key: string;
  /** When to ask for them again. */
  readonly renewAt: Date;
}

/**
 * The certificates of the bus, in a folder that is laid out as Orchestra's: `ca.crt` and `ca.key`,
 * and `NAME.crt` and `NAME.key` of each program. Missing files are created, certificates that expire
 * are renewed, and files that cannot be read are left alone.
 *
 * Several programs may do this at once, without a lock: the first one creates the key, which is never
 * replaced, and all certificates for that key are equally valid. A renewed certificate keeps its key,
 * because one file can be replaced atomically and two cannot.
 */
export class Certificates {
  readonly #files: CertificateFiles;
  readonly #renewal: Renewal;
  readonly #makesAuthority: boolean;

  constructor(folder: string, options: CertificatesOptions = {}) {
    const { warn = () => {}, now, makesAuthority = true } = options;
    this.#files = new CertificateFiles(folder, warn);
    this.#renewal = renewal(now ?? Date.now, warn);
    this.#makesAuthority = makesAuthority;
  }

  /** The trusted certificates; the first is the one that signs. */
  async trusted(): Promise<string> {
    return (await this.#authority()).pem;
  }

  /** The certificate of a program, valid for its name, for this machine and for `hosts`. */
  async credentialsFor(
    name: string,
    { hosts = [], unit }: CertificateOptions = {},
  ): Promise<IssuedCredentials> {
    const problem = problemOfName(name);
    if (problem !== undefined) {
      throw new TrunklineError("usage", `No certificate can be called '${name}': ${problem}`);
    }
    checkHosts(hosts);
    const authority = await this.#authority();
    const pair = this.#files.pair(name);
    let isRenewed = false;
    return settled(this.#files, pair, async ({ certificate: cert, key }) => {
      const path = pair.certificate;
      if (key === undefined) {
        if (cert !== undefined) throw new FileError(`'${pair.key}' is missing`);
        // Throws if no certificate could be issued for the key.
        authority.signer(path);
        await this.#files.create(pair.key, newKey());
        return undefined;
      }
      const leaf = { name, key: parseKey(pair.key, key), hosts, unit, now: this.#renewal.now() };
      if (cert === undefined) {
        await this.#files.create(path, issueLeaf(authority.signer(path), leaf));
        return undefined;
      }
      const [certificate] = parseCertificates(path, cert);
      checkPair(pair, certificate, leaf.key);
      authority.checkSigned(path, certificate);
      // Without the authority's key the unit cannot be added; the certificate is then used unchanged.
      const isMarked = authority.hindrance !== undefined || isFor(certificate, unit);
      const need = this.#needOf(certificate, hosts) ?? (isMarked ? undefined : `is no ${unit}'s`);
      if (need !== undefined && authority.hindrance === undefined && !isRenewed) {
        isRenewed = true;
        const made = issueLeaf(authority.signer(path), { ...leaf, old: certificate });
        await this.#files.replace(path, made);
        return undefined;
      }
      if (need !== undefined) {
        const why = authority.hindrance ?? "a renewed one would have the same problem";
        this.#renewal.giveUp(path, certificate, need, why);
      }
      const renewAt = Math.min(
        certificate.validToDate.getTime() - RENEW_LEAF,
        authority.certificate.validToDate.getTime() - RENEW_AUTHORITY,
      );
      return { cert, key, ca: authority.pem, renewAt: new Date(renewAt) };
    });
  }

  #authority(): Promise<Authority> {
    return Authority.load(this.#files, this.#renewal, this.#makesAuthority);
  }

  /** Why a certificate should be renewed, if it should. */
  #needOf(certificate: Authority["certificate"], hosts: readonly string[]): string | undefined {
    if (this.#renewal.isDue(certificate, RENEW_LEAF)) return `expires on ${dayOf(certificate)}`;
    const missing = hosts.find((host) => {
      if (isIP(host) !== 0) return certificate.checkIP(host) === undefined;
      return certificate.checkHost(host, { subject: "never" }) === undefined;
    });
    return missing === undefined ? undefined : `is not for '${missing}'`;
  }
}

function isFor({ subject }: Authority["certificate"], unit: string | undefined): boolean {
  return unit === undefined || subject.split("\n").includes(`OU=${unit}`);
}

const HOST = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?$/;

/** Throws for a host that no certificate can be issued for. */
function checkHosts(hosts: readonly string[]): void {
  for (const host of hosts) {
    if (HOST.test(host) || (isIP(host) !== 0 && !host.includes("%"))) continue;
    const next = "Give a name or an address, without port";
    throw new TrunklineError("usage", `No certificate can be issued for '${host}'. ${next}`);
  }
}

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
      throw new FileError(`the first certificate in '${pair.certificate}' is not an authority's`);
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
        if (keyPem === undefined) await files.create(pair.key, newKey());
        else {
          const made = issueAuthority(parseKey(pair.key, keyPem), renewal.now());
          await files.create(pair.certificate, made);
        }
        return undefined;
      }
      if (keyPem === undefined && age < SETTLE) throw new FileError(`'${pair.key}' is missing`);
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
    throw new FileError(`'${path}' is not signed by the authority in '${this.#pair.certificate}'`);
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

const DAY = 24 * 60 * 60_000;
/** A certificate is renewed when it expires within this time. */
const RENEW_LEAF = 30 * DAY;
/** Earlier, so that programs have enough time to read the new one. */
const RENEW_AUTHORITY = 90 * DAY;

type Renewal = ReturnType<typeof renewal>;

/** Decides when certificates are renewed, and reports those that cannot be. */
function renewal(now: () => number, warn: (message: string) => void) {
  const isDue = ({ validToDate }: X509Certificate, before: number): boolean =>
    validToDate.getTime() - now() <= before;
  /** Warns that a certificate cannot be renewed. Throws if it has expired. */
  const giveUp = (path: string, certificate: X509Certificate, need: string, why: string): void => {
    if (!isDue(certificate, 0)) {
      warn(`'${path}' should be renewed, since it ${need}, but cannot be: ${why}`);
      return;
    }
    const message = `'${path}' expired on ${dayOf(certificate)} and cannot be renewed: ${why}`;
    throw new TrunklineError("config", message);
  };
  return { now, isDue, giveUp };
}

function dayOf({ validToDate }: X509Certificate): string {
  return validToDate.toISOString().slice(0, 10);
}
