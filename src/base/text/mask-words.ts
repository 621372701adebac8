import { isSecretName, MASK, SECRET_SHAPE } from "./mask.ts";

/** One word that no shell acts on. */
const WORD = /^[\w.~+/=@:%-]{1,4096}$/;
/** The text of a key between its two marks: base64, with the headers that some have. */
const KEY = /^-----BEGIN [A-Z ]*-----[\w+/=\s:,-]*-----END [A-Z ]*-----$/;

/**
 * A copy to ask a person about: whole, whatever its size, but for secrets that are a single word.
 * What hides behind a mask elsewhere could be a command here: `?token=$(…)` is shown.
 */
export function maskWords(value: unknown): unknown {
  if (typeof value === "string") return maskWordsIn(value);
  if (Array.isArray(value)) return value.map(maskWords);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const isSecret = isSecretName(key, item) && typeof item === "string" && WORD.test(item);
      return [key, isSecret ? MASK : maskWords(item)];
    }),
  );
}

function maskWordsIn(text: string): string {
  return text.replace(SECRET_SHAPE, (secret) => {
    return WORD.test(secret) || KEY.test(secret) ? MASK : secret;
  });
}
