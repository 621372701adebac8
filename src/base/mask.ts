const MASK = "•••";
const MAX_DEPTH = 12;
const MAX_TEXT = 4096;

/** A field whose name says that its value is a secret. */
const SECRET_NAME =
  /^(?:.*(?:token|secret|passw(?:or)?d|passphrase|api[-_]?key|private[-_]?key|credential|cookie).*|authorization|pin|bearer|auth)$/i;

/** A count or a name that only sounds like a secret. */
const HARMLESS_NAME =
  /^(?:.*tokens|progress[-_]?token|max[-_]?tokens?|token[-_]?(?:type|count|source|env[-_]?var)|credential[-_]?source|next[-_]?token|.*cursor)$/i;

/** Text that has the shape of a secret, wherever it stands. */
const SECRET_SHAPE = new RegExp(
  [
    String.raw`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`,
    String.raw`\bgh[pousr]_[A-Za-z0-9]{20,}`,
    String.raw`\bgithub_pat_[A-Za-z0-9_]{20,}`,
    String.raw`\bglpat-[A-Za-z0-9_-]{16,}`,
    String.raw`\bATBB[A-Za-z0-9]{20,}`,
    String.raw`\bsk-[A-Za-z0-9_-]{16,}`,
    String.raw`\bxox[abpros]-[A-Za-z0-9-]{10,}`,
    String.raw`\bAKIA[A-Z0-9]{16}\b`,
    String.raw`\bAIza[A-Za-z0-9_-]{30,}`,
    String.raw`\bnpm_[A-Za-z0-9]{30,}`,
    String.raw`\bey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*`,
    String.raw`(?<=\b(?:Bearer|Basic) )[A-Za-z0-9._~+/=-]{8,}`,
    String.raw`(?<=://[^/\s:@]{0,256}:)[^/\s@]+(?=@)`,
  ].join("|"),
  "g",
);

/**
 * A copy that is safe to show: secrets are masked by the name of their field and by their shape,
 * long texts are cut, deep structures end. The original is not touched.
 */
export function mask(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return maskText(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "…";
  if (Array.isArray(value)) return value.map((item) => mask(item, depth + 1));
  if (value instanceof Error) return maskText(value.stack ?? value.message);
  const masked: Record<string, unknown> = Object.create(null);
  for (const [key, item] of Object.entries(value)) {
    masked[key] = isSecretName(key) && isSet(item) ? MASK : mask(item, depth + 1);
  }
  return masked;
}

/** Masks what has the shape of a secret inside a text. */
export function maskText(text: string): string {
  const shown = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length})` : text;
  return shown.replace(SECRET_SHAPE, MASK);
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !HARMLESS_NAME.test(name);
}

/** An empty or boolean field gives nothing away, and helps the reader. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && typeof value !== "boolean";
}
