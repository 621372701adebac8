/** Patterns of secrets. Everybody who fetches a branch can read the secrets on it. */
const SECRETS: readonly (readonly [name: string, pattern: RegExp])[] = [
  // With some of the text after it, because the first line of all keys is the same.
  ["a private key", /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[^]{0,400}/g],
  ["an AWS access key", /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g],
  ["a GitHub token", /\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b/g],
  ["a GitLab token", /\bglpat-[A-Za-z0-9_-]{20,}\b/g],
  ["an npm token", /\bnpm_[A-Za-z0-9]{36}\b/g],
  ["an Anthropic key", /\bsk-ant-[A-Za-z0-9_-]{32,}\b/g],
  ["an OpenAI key", /\bsk-(?:proj-)?[A-Za-z0-9_-]{40,}\b/g],
  ["a Slack token", /\bxox[abprs]-[A-Za-z0-9-]{20,}\b/g],
  ["a Google key", /\bAIza[0-9A-Za-z_-]{35}\b/g],
  ["a token of Trunkline", /\btlk_[A-Za-z0-9_-]{20,}\b/g],
];

/** The name of a secret that is in the bytes, and was not in the previous bytes. */
export function findSecret(bytes: Buffer, before?: Buffer): string | undefined {
  const texts = readings(bytes);
  const known = before === undefined ? [] : readings(before);
  const isNew = (secret: string): boolean => !known.some((text) => text.includes(secret));
  const found = SECRETS.find(([, pattern]) =>
    texts.some((text) => Array.from(text.matchAll(pattern), ([all]) => all).some(isNew)),
  );
  return found?.[0];
}

/** The bytes as text; if they contain zeros, also as UTF-16 of either byte order. */
function readings(bytes: Buffer): readonly string[] {
  const text = bytes.toString("latin1");
  return bytes.includes(0) ? [text, text.replaceAll("\0", "")] : [text];
}
