import { MASK, maskText } from "../base/text/mask.ts";

const PRIVATE_KEY =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;
/** The mask cuts longer texts, so lines are masked in pieces. */
const LONGEST = 4_000;

/**
 * Masks secrets in a text for a model. The rest of the text stays unchanged. `known` are our own secrets,
 * which are masked whatever they look like.
 */
export function hideSecrets(text: string, known: readonly string[] = []): string {
  let shown = text.replace(PRIVATE_KEY, MASK);
  for (const secret of known) if (secret.length >= 8) shown = shown.replaceAll(secret, MASK);
  return shown
    .split("\n")
    .map((line) => pieces(line).map(maskText).join(""))
    .join("\n");
}

/** Splits a long line at spaces, since no secret contains one. */
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
