import { TrunklineError } from "../../../base/errors.ts";
import { Authority } from "./authority.ts";
import { CertificateFiles } from "./certificate-files.ts";
import { type KeyType, newKey, issueLeaf } from "./issue.ts";
import { checkPair, parseCertificates, parseKey, Unusable } from "./certificate-files.ts";
import { dayOf, RENEW_AUTHORITY, RENEW_LEAF, Renewal } from "./renewal.ts";
import { settled } from "./certificate-files.ts";
import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";

/** The organizational unit that marks the certificate of a plugin. */
export const PLUGIN_UNIT = "plugin";

const NAME = /^(?!ca$)[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;
const FORM = "letters, digits, '.', '_' and '-', not 'ca'";

/** What is wrong with the name of a certificate, which is also a file name; undefined if nothing is. */
export function problemOfName(name: string): string | undefined {
  return NAME.test(name) ? undefined : `use ${FORM}`;
}

export interface CertificatesOptions {
  /** Told of problems that do not prevent the use of certificates. */
  readonly warn?: (message: string) => void;
  /** The type of new keys. Existing keys of any type are used. */
  readonly keyType?: KeyType;
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

/** The certificate and key that one side of a connection shows, and the authorities that it trusts. */
export interface Credentials {
  readonly certPem: string;
  readonly keyPem: string;
  readonly caPem: string;
  readonly expires: Date;
  /** When to ask for them again. */
  readonly renewAt: Date;
}

export function openCertificates(folder: string, options: CertificatesOptions = {}): Certificates {
  return new Certificates(folder, options);
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
  readonly #keyType: KeyType;
  readonly #makesAuthority: boolean;

  constructor(folder: string, options: CertificatesOptions) {
    const { warn = () => {}, keyType, now, makesAuthority = true } = options;
    this.#files = new CertificateFiles(folder, warn);
    this.#renewal = new Renewal(now ?? Date.now, warn);
    this.#keyType = keyType ?? "ed25519";
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
  ): Promise<Credentials> {
    const problem = problemOfName(name);
    if (problem !== undefined) {
      throw new TrunklineError("usage", `No certificate can be called '${name}': ${problem}`);
    }
    checkHosts(hosts);
    const authority = await this.#authority();
    const pair = this.#files.pair(name);
    let isRenewed = false;
    return settled(this.#files, pair, async ({ certificate: certPem, key: keyPem }) => {
      const path = pair.certificate;
      if (keyPem === undefined) {
        if (certPem !== undefined) throw new Unusable(`'${pair.key}' is missing`);
        // Throws if no certificate could be issued for the key.
        authority.signer(path);
        await this.#files.create(pair.key, newKey(this.#keyType));
        return undefined;
      }
      const leaf = { name, key: parseKey(pair.key, keyPem), hosts, unit, now: this.#renewal.now() };
      if (certPem === undefined) {
        await this.#files.create(path, issueLeaf(authority.signer(path), leaf));
        return undefined;
      }
      const [certificate] = parseCertificates(path, certPem);
      checkPair(pair, certificate, leaf.key);
      authority.checkSigned(path, certificate);
      // Without the key of the authority the unit cannot be added, and the certificate is used as it is.
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
      const expires = certificate.validToDate;
      return { certPem, keyPem, caPem: authority.pem, expires, renewAt: new Date(renewAt) };
    });
  }

  #authority(): Promise<Authority> {
    return Authority.load(this.#files, this.#renewal, this.#makesAuthority);
  }

  /** Why a certificate should be renewed, if it should. */
  #needOf(certificate: Authority["certificate"], hosts: readonly string[]): string | undefined {
    if (this.#renewal.isDue(certificate, RENEW_LEAF)) return `expires on ${dayOf(certificate)}`;
    const missing = hostWithout(certificate, hosts);
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

/** The first host that a certificate is not valid for. */
function hostWithout(certificate: X509Certificate, hosts: readonly string[]): string | undefined {
  return hosts.find((host) => {
    const found = isIP(host) === 0 ? byName(certificate, host) : certificate.checkIP(host);
    return found === undefined;
  });
}

function byName(certificate: X509Certificate, host: string): string | undefined {
  return certificate.checkHost(host, { subject: "never" });
}
