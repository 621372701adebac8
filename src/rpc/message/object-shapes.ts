/** Slots for known shapes; two shapes in one slot count as the same. */
const SLOTS = 2 ** 16;
/** A longer key always counts as new: reading it would take as long. */
const LONGEST_KEY = 64;
/** An object of more keys is kept as a table, and has no shape. */
const LARGEST_SHAPE = 128;
const QUOTE = 0x22;
const PRIME = 0x01000193;
/** Differs in every process, so that nobody can choose keys that share a slot. */
const SEED = Math.floor(Math.random() * 2 ** 32);

/** One table for all texts, which are measured one after another: each has its own mark. */
const SEEN = new Uint32Array(SLOTS);
let lastMark = 0;

/** What a key costs. */
export interface KeyCosts {
  /** No object had the same keys before, up to this one. */
  readonly new: number;
  readonly known: number;
  /** Of an object with so many keys that it has no shape. */
  readonly table: number;
}

/**
 * Remembers which keys objects had, in their order. A parser describes each such sequence once, and
 * that costs more than all else in an object; lists of like objects are cheap, a list of objects
 * with keys of their own is not.
 */
export class ObjectShapes {
  readonly #costs: KeyCosts;
  readonly #mark = nextMark();
  /** The keys so far of the object at each level, as a hash, and how many they are. */
  readonly #keys: number[] = [];
  readonly #counts: number[] = [];

  constructor(costs: KeyCosts) {
    this.#costs = costs;
  }

  open(level: number): void {
    this.#keys[level] = SEED;
    this.#counts[level] = 0;
  }

  /** Adds the key that stands in `text[from..to)`. Returns what it costs. */
  addKey(level: number, text: string, from: number, to: number): number {
    const count = (this.#counts[level] ?? 0) + 1;
    this.#counts[level] = count;
    if (count > LARGEST_SHAPE) return this.#costs.table;
    if (to - from > LONGEST_KEY) return this.#costs.new;
    let hash = this.#keys[level] ?? SEED;
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
    // The end of the key counts too, or `ab, c` would be `a, bc`.
    hash = Math.imul(hash ^ QUOTE, PRIME);
    this.#keys[level] = hash;
    const slot = hash >>> 16;
    const isKnown = SEEN[slot] === this.#mark;
    SEEN[slot] = this.#mark;
    return isKnown ? this.#costs.known : this.#costs.new;
  }
}

function nextMark(): number {
  lastMark = (lastMark + 1) >>> 0;
  // After four billion texts the marks begin again.
  if (lastMark === 0) SEEN.fill(0);
  return lastMark === 0 ? ++lastMark : lastMark;
}
