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
  /** Which pairs of characters begin a form: a look at it is all that most text costs. */
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

  isIn(text: string): boolean {
    return this.#find(text, 0) !== undefined;
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

/** Has a value masked from now on wherever text leaves; also what follows `Bearer` in it. */
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
