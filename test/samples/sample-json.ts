import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Chance that can be repeated. */
export interface Chance {
  below(end: number): number;
  once(times: number): boolean;
  pick<T>(values: readonly T[]): T;
  bytes(length: number): Buffer;
}

const NAMES = [
  "a",
  "text",
  "é",
  "名前",
  "👩‍👩‍👧",
  "",
  "__proto__",
  "constructor",
  "0",
  "a.b",
  "\u2028",
];
const TEXTS = [
  "",
  "x",
  "naïve ☃",
  "𝄞 clef",
  '\u0000\n\t"\\',
  "<b>&</b>",
  "\ufeffmark",
  "\u{10ffff}",
];
const NUMBERS = [0, 1, -1, 0.1, 1e21, -1e-7, 2 ** 53, 2 ** 53 + 2, 5e-324, Number.MAX_VALUE];

/** JSON of every kind, by chance. */
export function sampleJson(random: Chance, depth = 5): JsonObject {
  const members: [string, JsonValue][] = Array.from({ length: random.below(6) }, () => [
    random.pick(NAMES),
    sampleValue(random, depth - 1),
  ]);
  return Object.fromEntries(members);
}

function sampleValue(random: Chance, depth: number): JsonValue {
  switch (random.below(depth > 0 ? 7 : 4)) {
    case 0:
      return null;
    case 1:
      return random.once(2);
    case 2:
      return random.once(2) ? random.pick(NUMBERS) : random.below(2 ** 31) / 7;
    case 3:
      return random.pick(TEXTS).repeat(1 + random.below(20));
    case 4:
      return Array.from({ length: random.below(5) }, () => sampleValue(random, depth - 1));
    default:
      return sampleJson(random, depth);
  }
}
