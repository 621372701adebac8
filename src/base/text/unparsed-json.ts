/** The bundle may contain this module twice; no JSON has a symbol as a key. */
const TEXT = Symbol.for("trunkline.UnparsedJson");

/** A value that was read as valid JSON text and is passed on as it stands. */
export abstract class UnparsedJson {
  readonly #json: string;

  constructor(json: string) {
    this.#json = json;
  }

  /** Not copied by `...`: of an edited copy, the text before the edit would be sent. */
  get [TEXT](): string {
    return this.#json;
  }

  /** The value. */
  toJSON(): unknown {
    return JSON.parse(this.#json);
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
