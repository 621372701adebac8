import { COMMITTED_SECRETS } from "../../base/text/secret-patterns.ts";

/**
 * The name of a secret that is in the bytes, and was not in the previous bytes. Everybody who fetches
 * a branch can read the secrets on it.
 */
export function findSecret(bytes: Buffer, before?: Buffer): string | undefined {
  const texts = readings(bytes);
  const known = before === undefined ? [] : readings(before);
  const isNew = (secret: string): boolean => !known.some((text) => text.includes(secret));
  const found = COMMITTED_SECRETS.find(([, pattern]) =>
    texts.some((text) => Array.from(text.matchAll(pattern), ([all]) => all).some(isNew)),
  );
  return found?.[0];
}

/** The bytes as text; if they contain zeros, also as UTF-16 of either byte order. */
function readings(bytes: Buffer): readonly string[] {
  const text = bytes.toString("latin1");
  return bytes.includes(0) ? [text, text.replaceAll("\0", "")] : [text];
}
