import { background } from "../base/background.ts";
import {
  type CertificateOptions,
  Certificates,
  type CertificatesOptions,
} from "../protocol/bus/certificates/certificates.ts";
import type { Credentials } from "../wire/quic/connection.ts";

/** Certificates are checked at least this often: timers are late after a machine has slept. */
const LONGEST_WAIT = 12 * 60 * 60_000;
const SHORTEST_WAIT = 60_000;
/** Milliseconds between two checks after refused clients: anybody can cause a refusal. */
const BETWEEN_LOOKS = 1_000;

/** The certificates of a bus, in the form that connections use. */
export class BusCertificates {
  readonly folder: string;
  readonly #certificates: Certificates;
  /** The checks of all followers. */
  readonly #looks = new Set<() => Promise<void>>();
  /** The trusted authorities at the last check. */
  #trusted: string | undefined;
  #lastLook = -BETWEEN_LOOKS;

  constructor(
    folder: string,
    warn: (message: string) => void,
    options: Pick<CertificatesOptions, "makesAuthority"> = {},
  ) {
    this.folder = folder;
    this.#certificates = new Certificates(folder, { ...options, warn });
  }

  async of(name: string, options: CertificateOptions = {}): Promise<Credentials> {
    return (await this.#load(name, options)).credentials;
  }

  /** The same, and calls `renewed` after each renewal until `stop` is called. */
  async follow(
    name: string,
    options: CertificateOptions,
    renewed: (credentials: Credentials) => Promise<void>,
    failed: (error: unknown) => void,
  ): Promise<{ readonly credentials: Credentials; readonly stop: () => void }> {
    let timer: NodeJS.Timeout | undefined;
    let isStopped = false;
    const first = await this.#load(name, options);
    const wait = (renewAt: Date): void => {
      clearTimeout(timer);
      if (isStopped) return;
      const until = renewAt.getTime() - Date.now();
      timer = setTimeout(
        () => background(again(), "Renewing a certificate"),
        Math.min(LONGEST_WAIT, Math.max(SHORTEST_WAIT, until)),
      );
      timer.unref();
    };
    let present = first.credentials;
    const again = async (): Promise<void> => {
      try {
        const { credentials, renewAt } = await this.#load(name, options);
        const isSame = credentials.cert === present.cert && credentials.ca === present.ca;
        if (!isSame && !isStopped) await renewed(credentials);
        present = credentials;
        wait(renewAt);
      } catch (error) {
        if (!isStopped) failed(error);
        wait(new Date());
      }
    };
    this.#looks.add(again);
    wait(first.renewAt);
    const stop = (): void => {
      isStopped = true;
      this.#looks.delete(again);
      clearTimeout(timer);
    };
    return { credentials: first.credentials, stop };
  }

  /** Checks whether the files were replaced: clients with the new certificates are refused until then. */
  look(): void {
    const now = performance.now();
    if (now - this.#lastLook < BETWEEN_LOOKS) return;
    this.#lastLook = now;
    // The first check shows whether the authority has changed; if it has, all are checked.
    const [again] = this.#looks;
    background(again?.(), "Looking at a certificate");
  }

  async #load(name: string, options: CertificateOptions) {
    const { renewAt, ...credentials } = await this.#certificates.credentialsFor(name, options);
    const { ca } = credentials;
    const isReplaced = this.#trusted !== undefined && this.#trusted !== ca;
    this.#trusted = ca;
    // New certificates are valid only beside others of the same authority.
    if (isReplaced)
      for (const again of this.#looks) background(again(), "Looking at a certificate");
    return { credentials, renewAt };
  }
}
