import { endOfString, estimateEscapes } from "./json-text.ts";

export interface ComplexityLimits {
  readonly maxWork: number;
  readonly maxDepth: number;
}

/** Texts up to this length are parsed without a check: the worst of them costs a millisecond or two. */
export const UNSEEN = 8 * 1024;
/** Up to this length only the depth is checked: the worst of them costs ten milliseconds. */
export const CHEAP = 64 * 1024;

// The cost of each element, at its worst.
const ELEMENT = 1.5;
const OPENING = 3;
const CLOSING = 1.5;
/** A digit of a number, or white space. */
const CHARACTER = 0.6;
const STRING = 3;
/** Strings of up to ten characters are looked up in a table of all strings. */
const SHORT_STRING = 12;
const SHORT = 10;
/** As long as ten characters can be made with escapes. */
const SHORT_ESCAPED = 6 * SHORT;
const ESCAPE = 0.75;
/**
 * A known key is not looked up again: an object had the same keys before, up to this one. `table` is for
 * an object with so many keys that it has no shape.
 */
const KEY = { new: 60, known: 1.5, table: 30 };

const QUOTE = 0x22;

/** Whether a text is nested deeper than so many levels. */
export function isDeeper(text: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth++;
        if (depth > levels) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      default:
    }
  }
  return false;
}

/**
 * The estimated work of measuring and parsing a text, in units of about 50 ns. `JSON.parse`
 * of 10 MiB takes 20 ms when it is one string and 1.7 s when it is `[[[[…`; a byte limit alone does
 * not protect the event loop. Stops as soon as the text is over one of the limits.
 */
export function measureComplexity(text: string, limits: ComplexityLimits) {
  const shapes = new ObjectShapes();
  const escapes = estimateEscapes(text);
  const short = escapes === 0 ? SHORT : SHORT_ESCAPED;
  let work = ESCAPE * escapes;
  let depth = 0;
  let deepest = 0;
  let keyFrom = 0;
  let keyTo = 0;
  let keyCost = 0;
  for (let at = 0; at < text.length && work <= limits.maxWork; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        keyFrom = at + 1;
        at = keyTo = endOfString(text, at);
        keyCost = keyTo - keyFrom > short ? STRING : SHORT_STRING;
        work += keyCost;
        break;
      case 0x5b: // [
      case 0x7b: // {
        work += OPENING;
        depth++;
        if (depth > deepest) deepest = depth;
        shapes.open(depth);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        work += CLOSING;
        if (depth > 0) depth--;
        break;
      case 0x2c: // ,
        work += ELEMENT;
        break;
      case 0x3a: // :
        work += shapes.addKey(depth, text, keyFrom, keyTo) - keyCost;
        break;
      default:
        work += CHARACTER;
    }
    if (deepest > limits.maxDepth) break;
  }
  // One that is cut off ends inside of a string, so it is no JSON.
  return { work, depth: deepest, isCutOff: keyTo === text.length };
}

/** Slots for known shapes; two shapes in one slot count as the same. */
const SLOTS = 2 ** 16;
/** A longer key always counts as new: reading it would take as long. */
const LONGEST_KEY = 64;
/** An object of more keys is kept as a table, and has no shape. */
const LARGEST_SHAPE = 128;
const PRIME = 0x01000193;
/** Differs in every process, so that nobody can choose keys that share a slot. */
const SEED = Math.floor(Math.random() * 2 ** 32);

/** One table for all texts, which are measured one after another: each has its own mark. */
const SEEN = new Uint32Array(SLOTS);
let lastMark = 0;

/**
 * Remembers which keys objects had, in their order. A parser describes each such sequence once, and
 * that costs more than all else in an object; lists of like objects are cheap, a list of objects
 * with keys of their own is not.
 */
class ObjectShapes {
  readonly #mark = nextMark();
  /** The keys so far of the object at each level, as a hash, and how many they are. */
  readonly #keys: number[] = [];
  readonly #counts: number[] = [];

  open(level: number): void {
    this.#keys[level] = SEED;
    this.#counts[level] = 0;
  }

  /** Adds the key that stands in `text[from..to)`. Returns what it costs. */
  addKey(level: number, text: string, from: number, to: number): number {
    const count = (this.#counts[level] ?? 0) + 1;
    this.#counts[level] = count;
    if (count > LARGEST_SHAPE) return KEY.table;
    if (to - from > LONGEST_KEY) return KEY.new;
    let hash = this.#keys[level] ?? SEED;
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
    // The end of the key counts too, or `ab, c` would be `a, bc`.
    hash = Math.imul(hash ^ QUOTE, PRIME);
    this.#keys[level] = hash;
    const slot = hash >>> 16;
    const isKnown = SEEN[slot] === this.#mark;
    SEEN[slot] = this.#mark;
    return isKnown ? KEY.known : KEY.new;
  }
}

function nextMark(): number {
  lastMark = (lastMark + 1) >>> 0;
  // After four billion texts the marks begin again.
  if (lastMark === 0) SEEN.fill(0);
  return lastMark === 0 ? ++lastMark : lastMark;
}
