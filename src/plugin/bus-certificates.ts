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
export type BusCertificates = ReturnType<typeof busCertificates>;

export function busCertificates(
  folder: string,
  warn: (message: string) => void,
  options: Pick<CertificatesOptions, "makesAuthority"> = {},
) {
  const certificates = new Certificates(folder, { ...options, warn });
  /** The checks of all followers. */
  const looks = new Set<() => Promise<void>>();
  /** The trusted authorities at the last check. */
  let trusted: string | undefined;
  let lastLook = -BETWEEN_LOOKS;
  const load = async (name: string, options: CertificateOptions) => {
    const { renewAt, ...credentials } = await certificates.credentialsFor(name, options);
    const { ca } = credentials;
    const isReplaced = trusted !== undefined && trusted !== ca;
    trusted = ca;
    // New certificates are valid only beside others of the same authority.
    if (isReplaced) for (const again of looks) background(again(), "Looking at a certificate");
    return { credentials, renewAt };
  };
  return {
    folder,
    of: async (name: string, options: CertificateOptions = {}): Promise<Credentials> =>
      (await load(name, options)).credentials,
    /** The same, and calls `renewed` after each renewal until `stop` is called. */
    async follow(
      name: string,
      options: CertificateOptions,
      renewed: (credentials: Credentials) => Promise<void>,
      failed: (error: unknown) => void,
    ): Promise<{ readonly credentials: Credentials; readonly stop: () => void }> {
      let timer: NodeJS.Timeout | undefined;
      let isStopped = false;
      const first = await load(name, options);
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
          const { credentials, renewAt } = await load(name, options);
          const isSame = credentials.cert === present.cert && credentials.ca === present.ca;
          if (!isSame && !isStopped) await renewed(credentials);
          present = credentials;
          wait(renewAt);
        } catch (error) {
          if (!isStopped) failed(error);
          wait(new Date());
        }
      };
      looks.add(again);
      wait(first.renewAt);
      const stop = (): void => {
        isStopped = true;
        looks.delete(again);
        clearTimeout(timer);
      };
      return { credentials: first.credentials, stop };
    },
    /** Checks whether the files were replaced: clients with the new certificates are refused until then. */
    look(): void {
      const now = performance.now();
      if (now - lastLook < BETWEEN_LOOKS) return;
      lastLook = now;
      // The first check shows whether the authority has changed; if it has, all are checked.
      const [again] = looks;
      background(again?.(), "Looking at a certificate");
    },
  };
}
