import type { Setting } from "./schema/keys.ts";

const YES: ReadonlySet<string> = new Set(["1", "true", "yes", "on"]);
const NO: ReadonlySet<string> = new Set(["0", "false", "no", "off"]);

/**
 * A value of a variable or an option, read as its setting wants it. A text that cannot be read so
 * stays as it is, for the schema's check to say what is wrong with it.
 */
export function readScalar(text: string, type: Setting["type"]): string | number | boolean {
  if (type === "integer" && /^-?\d+$/.test(text)) return Number(text);
  if (type === "boolean" && YES.has(text.toLowerCase())) return true;
  if (type === "boolean" && NO.has(text.toLowerCase())) return false;
  return text;
}
