/** What stands in the place of a secret. */
export const MASK = "•••";
const MAX_DEPTH = 12;
const MAX_ITEMS = 10_000;
const MAX_TEXT = 4096;
/**
 * Characters of the shortest secret that its shape gives away: `Basic` and what follows it. A password
 * or token in a URL may be shorter.
 */
const SHORTEST = 14;
/** How far back a text may be cut so as not to leave the first half of a secret. */
const LONGEST_WORD = 256;

/** A field whose name says that its value is a secret. */
const SECRET_NAME =
  /token|secret|passw(?:or)?d|passphrase|api[-_]?key|private[-_]?key|credential|cookie|authorization$|^(?:pin|bearer|auth)$/i;

/** A name that only sounds like a secret. */
const HARMLESS_NAME =
  /^(?:progress[-_]?token|max[-_]?tokens?|token[-_]?(?:type|count|source|env[-_]?var)|credential[-_]?source|next[-_]?token|.{0,99}cursor)$/i;

/** How many tokens a model took; a list of tokens has the same name. */
const COUNT_NAME = /tokens$/i;

/** Text that has the shape of a secret, wherever it stands. */
const SHAPES = [
  String.raw`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`,
  String.raw`\bgh[pousr]_[A-Za-z0-9]{20,}`,
  String.raw`\bgithub_pat_[A-Za-z0-9_]{20,}`,
  String.raw`\btlk_[A-Za-z0-9_-]{20,}`,
  String.raw`\bglpat-[A-Za-z0-9_-]{16,}`,
  String.raw`\bATBB[A-Za-z0-9]{20,}`,
  String.raw`\bsk-[A-Za-z0-9_-]{16,}`,
  String.raw`\bxox[abpros]-[A-Za-z0-9-]{10,}`,
  String.raw`\bAKIA[A-Z0-9]{16}\b`,
  String.raw`\bAIza[A-Za-z0-9_-]{30,}`,
  String.raw`\bnpm_[A-Za-z0-9]{30,}`,
  // Only from the start of a word: else each `ey` in a long word would be a start.
  String.raw`(?<![\w-])ey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*`,
];
/** Text that is a secret because of what stands before it. The search tries this at each character. */
const FOLLOWING = [
  String.raw`(?<=\b(?:[Bb]earer|BEARER|[Bb]asic|BASIC) )[A-Za-z0-9._~+/=-]{8,}`,
  // A password may hold an @ of its own; the last one before the path is the host's.
  String.raw`(?<=://[^/\s:@]{0,256}:)[^/\s]+(?=@)`,
  // Also `exaApiKey` and `X-Api-Key`.
  String.raw`(?<=[?&][\w-]{0,32}(?:[Tt]oken|[Ss]ecret|[Pp]assword|[Aa]pi[_-]?[Kk]ey|API_?KEY|TOKEN)=)[^&#\s"']+`,
];
const SHAPE = new RegExp(SHAPES.join("|"), "g");
const SECRET_SHAPE = new RegExp([...SHAPES, ...FOLLOWING].join("|"), "g");

/**
 * A text without any of these has no such secret in it. To look for them takes a microsecond, and to
 * search a text of a kilobyte for all shapes takes thirty.
 */
const SHAPE_MARKS = ["_", "-", ".ey", "ATBB", "AKIA", "AIza"];
const URL_MARKS = ["://", "oken=", "ecret=", "assword=", "ey="];
const FOLLOWING_MARKS = ["earer ", "EARER ", "asic ", "ASIC ", ...URL_MARKS];

/**
 * A copy that is safe to show: secrets are masked by the name of their field and by their shape,
 * long texts are cut, deep, large and circular structures end. The original is not touched.
 */
export function mask(value: unknown): unknown {
  return copy(value, { path: [], left: MAX_ITEMS });
}

/**
 * Whether a masked copy would say the same as JSON. Said only of what is plain: texts, numbers and the
 * like, and objects and lists of them that are neither deep nor large.
 */
export function isUnmasked(value: unknown, depth = MAX_UNMASKED): boolean {
  switch (typeof value) {
    case "string":
      return maskText(value) === value;
    case "number":
    case "boolean":
      return true;
    case "object":
      if (value === null) return true;
      if (depth === 0) return false;
      return Array.isArray(value) ? hasUnmaskedItems(value, depth) : hasUnmasked(value, depth);
    case "bigint":
    case "symbol":
    case "function":
    case "undefined":
    default:
      return false;
  }
}

/** Containers in each other, and values in one of them: together they are fewer than a copy may have. */
const MAX_UNMASKED = 3;
const MAX_MEMBERS = 16;

function hasUnmaskedItems(items: readonly unknown[], depth: number): boolean {
  if (items.length > MAX_MEMBERS) return false;
  for (const item of items) if (!isUnmasked(item, depth - 1)) return false;
  return true;
}

function hasUnmasked(object: object, depth: number): boolean {
  if (Object.getPrototypeOf(object) !== Object.prototype || isSecretPair(object)) return false;
  const keys = Object.keys(object);
  if (keys.length > MAX_MEMBERS) return false;
  for (const key of keys) {
    const value: unknown = (object as Record<string, unknown>)[key];
    if (soundsSecret(key) || maskText(key) !== key || !isUnmasked(value, depth - 1)) return false;
  }
  return true;
}

/** Masks what has the shape of a secret inside a text. */
export function maskText(text: string): string {
  // Most texts are short, and no secret is: this spares them the search.
  if (text.length < SHORTEST && !text.includes("@") && !text.includes("=")) return text;
  const shown = text.length > MAX_TEXT ? `${cut(text)}… (${text.length})` : text;
  if (hasOneOf(FOLLOWING_MARKS, shown)) return shown.replace(SECRET_SHAPE, MASK);
  return hasOneOf(SHAPE_MARKS, shown) ? shown.replace(SHAPE, MASK) : shown;
}

function hasOneOf(marks: readonly string[], text: string): boolean {
  for (const mark of marks) if (text.includes(mark)) return true;
  return false;
}

interface Walk {
  /** The containers around the present value. */
  readonly path: object[];
  /** Values that may still be copied. */
  left: number;
}

function copy(value: unknown, walk: Walk): unknown {
  walk.left--;
  if (typeof value === "string") return maskText(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Error) return maskText(value.stack ?? value.message);
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`;
  if (walk.path.includes(value)) return "(circular)";
  if (walk.path.length >= MAX_DEPTH) return "…";
  walk.path.push(value);
  const copied = copyContainer(value, walk);
  walk.path.pop();
  return copied;
}

function copyContainer(value: object, walk: Walk): unknown {
  if (hasToJson(value)) return copy(value.toJSON(), walk);
  if (!Array.isArray(value)) return copyFields(value, walk);
  const items: unknown[] = [];
  for (const item of value as unknown[]) {
    if (walk.left <= 0) return [...items, `… (${value.length})`];
    items.push(copy(item, walk));
  }
  return items;
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return "toJSON" in value && typeof value.toJSON === "function";
}

function copyFields(value: object, walk: Walk): unknown {
  const isPair = isSecretPair(value);
  const masked: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (walk.left <= 0) {
      masked["…"] = "…";
      break;
    }
    const isSecret = isSecretName(key, item) || (isPair && key === "value");
    put(masked, maskText(key), isSecret && isSet(item) ? MASK : copy(item, walk));
  }
  return masked;
}

/** Environments and headers are often lists of `{ name, value }`. */
function isSecretPair(value: object): boolean {
  return "name" in value && typeof value.name === "string" && isSecretName(value.name);
}

/** Plain objects are written as JSON several times as fast as those without a prototype. */
function put(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true });
}

const names = new Map<string, boolean>();
/** The names of fields are few, unless somebody makes them up. */
const MOST_NAMES = 1000;

/** Whether the name of a field says that its value is a secret. */
export function isSecretName(key: string, value?: unknown): boolean {
  if (!soundsSecret(key)) return false;
  const isText = typeof value === "string" || Array.isArray(value);
  return isText || !COUNT_NAME.test(key);
}

function soundsSecret(key: string): boolean {
  const known = names.get(key);
  if (known !== undefined) return known;
  const name = key.slice(0, LONGEST_WORD);
  const sounds = SECRET_NAME.test(name) && !HARMLESS_NAME.test(name);
  if (names.size < MOST_NAMES && key.length <= LONGEST_WORD) names.set(key, sounds);
  return sounds;
}

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
  if (typeof value === "string") return maskWordsIn(value);
  if (Array.isArray(value)) return value.map(maskWords);
  if (typeof value !== "object" || value === null) return value;
  const isPair = isSecretPair(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const isNamed = isSecretName(key, item) || (isPair && key === "value");
      const isSecret = isNamed && typeof item === "string" && WORD.test(item);
      return [key, isSecret ? MASK : maskWords(item)];
    }),
  );
}

function maskWordsIn(text: string): string {
  return text.replace(SECRET_SHAPE, (secret) => {
    return WORD.test(secret) || KEY.test(secret) ? MASK : secret;
  });
}
