import { MASK, maskText } from "../base/text/mask.ts";

const PRIVATE_KEY =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;
/** A longer text is cut where it is masked. */
const LONGEST = 4_000;

/**
 * A text without what has the shape of a secret, for a model to read; nothing else of it changes.
 * `known` are secrets of ours, whatever their shape.
 */
export function hideSecrets(text: string, known: readonly string[] = []): string {
  let shown = text.replace(PRIVATE_KEY, MASK);
  for (const secret of known) if (secret.length >= 8) shown = shown.replaceAll(secret, MASK);
  return shown
    .split("\n")
    .map((line) => pieces(line).map(maskText).join(""))
    .join("\n");
}

/** Cut between words, where a secret does not go on. */
function pieces(line: string): string[] {
  if (line.length <= LONGEST) return [line];
  const found: string[] = [];
  for (let from = 0; from < line.length;) {
    const end = from + LONGEST;
    const space = end < line.length ? line.lastIndexOf(" ", end) : -1;
    const to = space > from ? space : Math.min(end, line.length);
    found.push(line.slice(from, to));
    from = to;
  }
  return found;
}
