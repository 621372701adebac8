import { SECRET_FIELD, SECRET_MARK, SECRET_TEXT } from "./secret-patterns.ts";

/** Length of the shortest text in which a secret can be recognized: `-u a:b`. */
const SHORTEST = 6;
const MAX_DEPTH = 12;
const MAX_ITEMS = 10_000;
const MAX_TEXT = 4096;
/** How far back a text may be cut so as not to leave the first half of a secret. */
const LONGEST_WORD = 256;

/** A name that only sounds like a secret. */
const HARMLESS_NAME =
  /^(?:progress[-_]?token|max[-_]?tokens?|token[-_]?(?:type|count|source|env[-_]?var)|credential[-_]?source|next[-_]?token|.{0,99}cursor)$/i;

/** How many tokens a model took; a list of tokens has the same name. */
const COUNT_NAME = /tokens$/i;

/**
 * A copy that is safe to show: secrets are masked by the name of their field and by their shape,
 * long texts are cut, deep, large and circular structures end. The original is not touched.
 */
export function mask(value: unknown, walk: CopyState = { path: [], left: MAX_ITEMS }): unknown {
  walk.left--;
  if (typeof value === "string") return maskText(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Error) return maskText(value.stack ?? value.message);
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`;
  if (walk.path.includes(value)) return "(circular)";
  if (walk.path.length >= MAX_DEPTH) return "…";
  walk.path.push(value);
  const copied =
    "toJSON" in value && typeof value.toJSON === "function"
      ? mask((value as { toJSON(): unknown }).toJSON(), walk)
      : Array.isArray(value)
        ? copyItems(value, walk)
        : copyFields(value, walk);
  walk.path.pop();
  return copied;
}

/** Masks secrets inside a text: those that we hold, and what looks like one. The end of a long one is cut. */
export function maskText(text: string): string {
  // Most texts are short, and no secret is: this spares them the search.
  if (text.length < SHORTEST) return text;
  if (text.length <= MAX_TEXT) return masked(text);
  // Held secrets are masked before the cut, so that it leaves no half of one.
  const start = HELD.mask(text.slice(0, MAX_TEXT + HELD.longest));
  return masked(`${cut(start)}… (${text.length})`);
}

/** Masks secrets inside a text of any length, and leaves the rest unchanged. */
export function maskWhole(text: string): string {
  return text.length < SHORTEST ? text : masked(text);
}

function masked(text: string): string {
  const shown = HELD.mask(text);
  return SECRET_MARK.test(shown) ? shown.replace(SECRET_TEXT, MASK) : shown;
}

interface CopyState {
  /** The containers around the present value. */
  readonly path: object[];
  /** Values that may still be copied. */
  left: number;
}

function copyItems(list: readonly unknown[], walk: CopyState): unknown {
  const items: unknown[] = [];
  for (const item of list) {
    if (walk.left <= 0) return [...items, `… (${list.length})`];
    items.push(mask(item, walk));
  }
  return items;
}

function copyFields(value: object, walk: CopyState): unknown {
  const isPair = isSecretPair(value);
  const masked: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (walk.left <= 0) {
      masked["…"] = "…";
      break;
    }
    const isSecret = isSecretName(key, item) || (isPair && key === "value");
    const shown = isSecret && isSet(item) ? MASK : mask(item, walk);
    // A plain object is written as JSON several times as fast as one without a prototype.
    if (key !== "__proto__") masked[maskText(key)] = shown;
    else Object.defineProperty(masked, key, { value: shown, enumerable: true });
  }
  return masked;
}

/** Environments and headers are often lists of `{ name, value }`. */
function isSecretPair(value: object): boolean {
  return "name" in value && typeof value.name === "string" && isSecretName(value.name);
}

/** Whether the name of a field says that its value is a secret. */
export function isSecretName(key: string, value?: unknown): boolean {
  const name = key.slice(0, LONGEST_WORD);
  if (!SECRET_FIELD.test(name) || HARMLESS_NAME.test(name)) return false;
  const isText = typeof value === "string" || Array.isArray(value);
  return isText || !COUNT_NAME.test(key);
}

/** Registers the secrets among some settings, so that they are masked in all output from now on. */
export function holdSecrets(settings: unknown, isAll = false): void {
  if (typeof settings !== "object" || settings === null) return;
  const isPair = isSecretPair(settings);
  for (const [key, value] of Object.entries(settings)) {
    const isNamed = isAll || isSecretName(key, value) || (isPair && key === "value");
    if (typeof value !== "string") holdSecrets(value, isNamed);
    else if (isNamed && !PLACE_NAME.test(key) && !PLACE.test(value)) holdSecret(value);
  }
}

/** Names and values that say where a secret is, such as a path or a reference. */
const PLACE_NAME =
  /(?:file|path|dir(?:ectory)?|sock(?:et)?|home|ur[il]|name|type|variable|token_?store)$/i;
const PLACE = /^~?(?:\/[\w.-]+){2,}\/?$|\$\{/;

/** An empty or boolean field gives nothing away, and helps the reader. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && typeof value !== "boolean";
}

/** The beginning of a long text, without the word it would be cut in. */
function cut(text: string): string {
  const start = text.slice(0, MAX_TEXT);
  const space = Math.max(start.lastIndexOf(" "), start.lastIndexOf("\n"));
  return start.slice(0, Math.max(space, MAX_TEXT - LONGEST_WORD));
}

/** One word that no shell acts on. */
const WORD = /^[\w.~+/=@:%-]{1,4096}$/;
/** The text of a key between its two marks: base64, with the headers that some have. */
const KEY = /^-----BEGIN [A-Z ]*-----[\w+/=\s:,-]*-----END [A-Z ]*-----$/;

/**
 * A copy to ask a person about: whole, whatever its size, but for secrets that are a single word.
 * What hides behind a mask elsewhere could be a command here: `?token=$(…)` is shown.
 */
export function maskWords(value: unknown): unknown {
  return copyOf(value, maskWordsIn, (text) => WORD.test(text));
}

function copyOf(
  value: unknown,
  maskIn: (text: string) => string,
  isMasked: (text: string) => boolean,
): unknown {
  if (typeof value === "string") return maskIn(value);
  if (Array.isArray(value)) return value.map((item) => copyOf(item, maskIn, isMasked));
  if (typeof value !== "object" || value === null) return value;
  const isPair = isSecretPair(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const isNamed = isSecretName(key, item) || (isPair && key === "value");
      const isSecret = isNamed && typeof item === "string" && item !== "" && isMasked(item);
      return [key, isSecret ? MASK : copyOf(item, maskIn, isMasked)];
    }),
  );
}

function maskWordsIn(text: string): string {
  const shown = HELD.mask(text);
  if (!SECRET_MARK.test(shown)) return shown;
  return shown.replace(SECRET_TEXT, (secret) => {
    return WORD.test(secret) || KEY.test(secret) ? MASK : secret;
  });
}

/** A copy that leaves the machine: whole, whatever its size, but for all secrets. */
export function maskAll(value: unknown): unknown {
  return copyOf(value, maskWhole, () => true);
}

/** What stands in the place of a secret. */
export const MASK = "•••";
/** Shorter values would match by chance. */
export const SHORTEST_SECRET = 8;
/** Logins are renewed for ever; the oldest values are of no use any more. */
const MOST = 1_000;

/** The values of secrets that this process has read or made: of models, identities, servers, logins. */
class HeldSecrets {
  readonly #values = new Set<string>();
  /** All forms by their first two characters, the longest first; undefined until they are needed. */
  #forms: Map<number, string[]> | undefined;
  /** Which pairs of characters begin a form. For most text, this lookup is the only cost. */
  readonly #starts = new Uint8Array(1 << 16);
  #longest = 0;

  hold(value: string): void {
    if (value.length < SHORTEST_SECRET || this.#values.has(value)) return;
    this.#values.add(value);
    for (const oldest of this.#values) {
      if (this.#values.size > MOST) this.#values.delete(oldest);
      else break;
    }
    this.#forms = undefined;
  }

  /** Characters of the longest form: a text may be cut there only after it was masked. */
  get longest(): number {
    this.#prepare();
    return this.#longest;
  }

  mask(text: string): string {
    let shown = "";
    let from = 0;
    for (let found = this.#find(text, 0); found; found = this.#find(text, from)) {
      shown += text.slice(from, found.at) + MASK;
      from = found.at + found.length;
    }
    return from === 0 ? text : shown + text.slice(from);
  }

  #find(text: string, from: number): { at: number; length: number } | undefined {
    if (this.#values.size === 0) return undefined;
    const forms = this.#prepare();
    const starts = this.#starts;
    const last = text.length - SHORTEST_SECRET;
    for (let at = from; at <= last; at++) {
      const pair = pairAt(text, at);
      if (starts[pair] === 0) continue;
      const form = forms.get(pair)?.find((each) => text.startsWith(each, at));
      if (form !== undefined) return { at, length: form.length };
    }
    return undefined;
  }

  #prepare(): Map<number, string[]> {
    if (this.#forms !== undefined) return this.#forms;
    const all = new Set([...this.#values].flatMap(secretForms));
    // A shorter form may be a part of a longer one.
    const sorted = [...all].toSorted((one, other) => other.length - one.length);
    this.#forms = Map.groupBy(sorted, (form) => pairAt(form, 0));
    this.#longest = sorted[0]?.length ?? 0;
    this.#starts.fill(0);
    for (const pair of this.#forms.keys()) this.#starts[pair] = 1;
    return this.#forms;
  }
}

function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at) & 0xff) << 8) | (text.charCodeAt(at + 1) & 0xff);
}

export const HELD = new HeldSecrets();

/**
 * Registers a secret, so that it is masked in all output from now on; also the part of it that follows
 * `Bearer`.
 */
export function holdSecret(value: string | undefined): void {
  if (value === undefined) return;
  HELD.hold(value);
  const [, bare] = /^[A-Za-z]+ (\S+)$/.exec(value) ?? [];
  if (bare !== undefined) HELD.hold(bare);
}

/** A secret as it is, line by line, and in the encodings that configuration files and addresses use. */
export function secretForms(value: string): string[] {
  const lines = value.split(/\r?\n/).filter((line) => line.length >= SHORTEST_SECRET);
  const forms = new Set([value, ...lines]);
  for (const text of [value, ...lines]) {
    for (const form of [...addressesOf(text), ...jsonOf(text), ...base64Of(text)]) forms.add(form);
    const hex = Buffer.from(text).toString("hex");
    forms.add(hex).add(hex.toUpperCase());
  }
  return [...forms];
}

/** In a part of an address, in a whole one, and in a form; the letters of a code may be small. */
function addressesOf(text: string): string[] {
  const whole = text.toWellFormed();
  const form = new URLSearchParams({ "": whole }).toString().slice(1);
  return [encodeURIComponent(whole), encodeURI(whole), form].flatMap((each) => [
    each,
    each.replaceAll(/%../g, (code) => code.toLowerCase()),
  ]);
}

/** As JavaScript, PHP and Go write it. */
function jsonOf(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const code = (sign: string): string => `\\u00${sign.charCodeAt(0).toString(16)}`;
  return [json, json.replaceAll("/", "\\/"), json.replaceAll(/[<>&]/g, code)];
}

/** The base64 forms of a text that may be part of a longer one, such as `user:TOKEN` in a header. */
function base64Of(text: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    // The characters at both ends depend on the neighbouring text.
    const [first, last] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)];
    return (["base64", "base64url"] as const).map((as) => bytes.toString(as).slice(first, last));
  });
}
