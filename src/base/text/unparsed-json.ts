/** The bundle may contain this module twice; no JSON has a symbol as a key. */
const TEXT = Symbol.for("trunkline.UnparsedJson");

/** A value that was read as valid JSON text and is passed on as it stands. */
export abstract class UnparsedJson {
  readonly [TEXT]: string;

  constructor(json: string) {
    this[TEXT] = json;
  }

  /** The value. */
  toJSON(): unknown {
    return JSON.parse(this[TEXT]);
  }
}

/** The text of a value that was not parsed; undefined for all others. */
export function unparsedText(value: unknown): string | undefined {
  return typeof value === "object" && value !== null
    ? (value as { readonly [TEXT]?: string })[TEXT]
    : undefined;
}

/** The value behind what may not have been parsed. */
export function parsed(value: unknown): unknown {
  return unparsedText(value) === undefined ? value : (value as UnparsedJson).toJSON();
}
