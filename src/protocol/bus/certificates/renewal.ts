import type { X509Certificate } from "node:crypto";

import { TrunklineError } from "../../../base/errors.ts";

const DAY = 24 * 60 * 60_000;
/** A certificate is renewed when it expires within this time. */
export const RENEW_LEAF = 30 * DAY;
/** Earlier, so that programs have enough time to read the new one. */
export const RENEW_AUTHORITY = 90 * DAY;

/** Decides when certificates are renewed, and reports those that cannot be. */
export class Renewal {
  readonly now: () => number;
  readonly #warn: (message: string) => void;

  constructor(now: () => number, warn: (message: string) => void) {
    this.now = now;
    this.#warn = warn;
  }

  isDue({ validToDate }: X509Certificate, before: number): boolean {
    return validToDate.getTime() - this.now() <= before;
  }

  /** Warns that a certificate cannot be renewed. Throws if it has expired. */
  giveUp(path: string, certificate: X509Certificate, need: string, why: string): void {
    if (!this.isDue(certificate, 0)) {
      this.#warn(`'${path}' should be renewed, since it ${need}, but cannot be: ${why}`);
      return;
    }
    const message = `'${path}' expired on ${dayOf(certificate)} and cannot be renewed: ${why}`;
    throw new TrunklineError("config", message);
  }
}

export function dayOf({ validToDate }: X509Certificate): string {
  return validToDate.toISOString().slice(0, 10);
}
