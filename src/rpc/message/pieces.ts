/** A step of rebuilding a JSON value from parts that each take little time. */
export type Piece =
  | { readonly open: "list" | "object"; readonly key: string }
  | { readonly members: readonly (readonly [key: string, value: unknown])[] }
  | { readonly close: true };

/** Values in one piece, with one more for each so many characters of their strings. */
const LARGEST = 4_000;
const CHARACTERS = 256;

/** The pieces of a value, in the order in which `Assembly` takes them. */
export function* piecesOf(value: unknown): Generator<Piece> {
  const heavy = new Set<unknown>();
  weigh(value, heavy);
  yield* membersOf([["", value]], heavy);
}

function* membersOf(
  members: Iterable<readonly [string, unknown]>,
  heavy: ReadonlySet<unknown>,
): Generator<Piece> {
  let group: (readonly [string, unknown])[] = [];
  let weight = 0;
  for (const member of members) {
    const [key, value] = member;
    const isHeavy = heavy.has(value);
    if (!isHeavy) {
      group.push(member);
      weight += weigh(value);
    }
    if ((isHeavy || weight > LARGEST) && group.length > 0) {
      yield { members: group };
      group = [];
      weight = 0;
    }
    if (!isHeavy) continue;
    yield { open: Array.isArray(value) ? "list" : "object", key };
    yield* membersOf(Object.entries(value as object), heavy);
    yield { close: true };
  }
  if (group.length > 0) yield { members: group };
}

/** Counts the values in a value, and notes the lists and objects that are too large for one piece. */
function weigh(value: unknown, heavy?: Set<unknown>): number {
  if (typeof value === "string") return 1 + value.length / CHARACTERS;
  if (typeof value !== "object" || value === null) return 1;
  let weight = 1;
  for (const member of Object.values(value)) weight += weigh(member, heavy);
  if (weight > LARGEST) heavy?.add(value);
  return weight;
}

/** Builds a value from its pieces. */
export class Assembly {
  readonly #root: Record<string, unknown> = {};
  readonly #open: object[] = [this.#root];

  get value(): unknown {
    return this.#root[""];
  }

  take(piece: Piece): void {
    if ("close" in piece) this.#open.pop();
    else if ("members" in piece) for (const [key, value] of piece.members) this.#add(key, value);
    else {
      const value = piece.open === "list" ? [] : {};
      this.#add(piece.key, value);
      this.#open.push(value);
    }
  }

  #add(key: string, value: unknown): void {
    const into = this.#open.at(-1) as object;
    if (Array.isArray(into)) into.push(value);
    // As JSON.parse does: `__proto__` is a member like any other.
    else Object.defineProperty(into, key, { value, ...PLAIN });
  }
}

const PLAIN = { configurable: true, enumerable: true, writable: true };
