import { attempt } from "../base/attempt.ts";
import { TrunklineError } from "../base/errors.ts";
import { type KeyPath, keyText, mergeValues, type ConfigValues } from "./layer.ts";
import type { Setting } from "./schema/keys.gen.ts";

/** A key, or one in brackets and quotes: `limits.messages["fs/*"]`. */
const STEP = /(?:^|(?<=[^.])\.)([^.[\]="]+)|\[("(?:[^"\\]|\\.)*")\]/y;

/** Reads a key such as `serve.port`. */
export function parseKey(text: string): KeyPath {
  const { path, end } = readKey(text);
  if (path.length === 0 || end !== text.length || path.includes("__proto__")) {
    const form = 'Write it as serve.port, or as mcpServers["my.server"].cwd.';
    throw new TrunklineError("usage", `Cannot read '${text}' as a key. ${form}`);
  }
  return path;
}

/** The key that a text begins with, and where it ends. */
function readKey(text: string): { readonly path: readonly string[]; readonly end: number } {
  const path: string[] = [];
  STEP.lastIndex = 0;
  let end = 0;
  for (let match = STEP.exec(text); match !== null; match = STEP.exec(text)) {
    end = STEP.lastIndex;
    const step = match[1] ?? jsonOr(match[2] ?? "", "");
    path.push(String(step));
  }
  return { path, end };
}

/** Reads `key.path=value`. The value is JSON, or else the text itself. */
export function parseAssignment(text: string): { readonly path: KeyPath; readonly value: unknown } {
  const { path, end } = readKey(text);
  if (path.length === 0 || text[end] !== "=" || text.includes("__proto__")) {
    const form = "Write it as --set key.path=value, such as --set log.level=debug.";
    throw new TrunklineError("usage", `Cannot read '--set ${text}'. ${form}`);
  }
  const value = text.slice(end + 1);
  return { path, value: jsonOr(value, value) };
}

/** Values that are set one by one, such as by options, and what set each. */
export class SingleValues {
  values: ConfigValues = {};
  readonly #names = new Map<string, string>();

  add(path: KeyPath, value: unknown, name: string): void {
    this.values = mergeValues(this.values, objectAround(path, value));
    this.#names.set(keyText(path), name);
  }

  /** The name of the option or variable that set a value, or an object around it. */
  nameOf(path: KeyPath): string | undefined {
    for (let length = path.length; length > 0; length--) {
      const name = this.#names.get(keyText(path.slice(0, length)));
      if (name !== undefined) return name;
    }
    return undefined;
  }
}

/** The value inside objects that lead to it. */
export function objectAround(path: KeyPath, value: unknown): ConfigValues {
  return path.reduceRight((inner, step) => ({ [step]: inner }), value) as ConfigValues;
}

function jsonOr(text: string, otherwise: string): unknown {
  return attempt(() => JSON.parse(text) as unknown, otherwise);
}

const YES: ReadonlySet<string> = new Set(["1", "true", "yes", "on"]);
const NO: ReadonlySet<string> = new Set(["0", "false", "no", "off"]);

/**
 * Converts the text of a variable or an option to the type of its setting. A text that does not fit is
 * returned unchanged, so that the schema's check reports it.
 */
export function readScalar(text: string, type: Setting["type"]): string | number | boolean {
  if (type === "integer" && /^-?\d+$/.test(text)) return Number(text);
  if (type === "number" && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  if (type === "boolean" && YES.has(text.toLowerCase())) return true;
  if (type === "boolean" && NO.has(text.toLowerCase())) return false;
  return text;
}
