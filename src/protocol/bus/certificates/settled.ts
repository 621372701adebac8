import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../../../base/errors.ts";
import type { CertificateFiles, FilePair, PairTexts } from "./certificate-files.ts";
import { Unusable } from "./pem.ts";

/** Other programs write their files in place: what looks wrong may be half written. */
export const SETTLE = 2_000;
const LOOK_AGAIN = 25;
/** A key, a certificate, a newer one: more often nothing has to be changed. */
const MAX_CHANGES = 10;

/**
 * Looks at a pair of files until an attempt has a result; one that has none has changed the files.
 * What cannot be used is looked at again while it is so new that somebody may be writing it.
 */
export async function settled<T>(
  files: CertificateFiles,
  pair: FilePair,
  attempt: (texts: PairTexts) => Promise<T | undefined>,
): Promise<T> {
  for (let changes = 0; changes <= MAX_CHANGES;) {
    const texts = await files.read(pair);
    try {
      const result = await attempt(texts);
      if (result !== undefined) return result;
      changes++;
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      if (Math.abs(texts.age) >= SETTLE) throw unusable(pair, error);
      await delay(LOOK_AGAIN);
    }
  }
  const why =
    "the files do not exist after they were written. Check whether one of them is a dangling link.";
  throw new TrunklineError("config", `Cannot make '${pair.certificate}' and its key: ${why}`);
}

function unusable({ certificate, key }: FilePair, cause: Unusable): TrunklineError {
  const next = `Put the right files there, or delete '${certificate}' and '${key}' to have them made`;
  const message = `Cannot use these certificates: ${cause.message}. ${next}`;
  return new TrunklineError("config", message, { cause });
}
