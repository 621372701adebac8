import { allWordsOf, askedBy, plainQuery, stem, wordsOf } from "./words.ts";

/** What `vocabulary.json` has. */
interface VocabularyFile {
  /** Each a group of words that people and programs use for the same thing. */
  readonly groups: readonly string[];
  /**
   * Each `words of tools = what people say | …`, where `..` stands for up to five words, and the words on
   * both sides of a `+` are meant.
   */
  readonly phrases: readonly string[];
}

/** Something that people say, and the words that tools have for it. */
interface Phrase {
  readonly words: readonly string[];
  /** Of each thing that is meant: words for it. */
  readonly meant: readonly (readonly string[])[];
}

/** A word of a query, or several that mean something together. */
export interface QueryPart {
  readonly words: readonly string[];
  /** What tools may say for it. */
  readonly meant: ReadonlySet<string>;
}

const GAP = "..";
const LONGEST_GAP = 5;

let loaded: Promise<Vocabulary> | undefined;

/** The words that a search knows. The first search reads them, not each start. */
export async function loadVocabulary(): Promise<Vocabulary> {
  loaded ??= import("./vocabulary.json", { with: { type: "json" } }).then((file) => {
    return new Vocabulary(file.default);
  });
  return loaded;
}

/** Knows which words of tools stand for what people say. All words are stems. */
export class Vocabulary {
  readonly #synonyms = new Map<string, Set<string>>();
  /** By their first word, the longest first. */
  readonly #phrases = new Map<string, Phrase[]>();

  constructor({ groups, phrases }: VocabularyFile) {
    for (const group of groups) {
      const words = group.split(" ").map(stem);
      for (const word of words) {
        const others = this.#synonyms.getOrInsertComputed(word, () => new Set());
        for (const other of words) if (other !== word) others.add(other);
      }
    }
    for (const line of phrases) {
      const [meant = "", said = ""] = line.split(" = ");
      for (const phrase of said.split(" | ")) this.#add(phrase, meant.split(" + ").map(wordsOf));
    }
    for (const all of this.#phrases.values()) {
      all.sort((one, other) => other.words.length - one.words.length);
    }
  }

  /** The other words of a word's groups. */
  synonymsOf(word: string): Iterable<string> {
    return this.#synonyms.get(word) ?? [];
  }

  /** What a query consists of: phrases, the longest first, and the words that are in none. */
  partsOf(query: string): QueryPart[] {
    const words = allWordsOf(plainQuery(query));
    const found = words.flatMap((word, at) =>
      (this.#phrases.get(word) ?? []).flatMap(({ words: said, meant }) => {
        const places = placesOf(said, words, at);
        return places === undefined ? [] : [{ places, meant }];
      }),
    );
    found.sort((one, other) => other.places.length - one.places.length);
    const taken = new Set<number>();
    /** By their places: a phrase may mean several things. */
    const parts = new Map<string, { words: string[]; meant: Set<string> }[]>();
    for (const { places, meant } of found) {
      const key = places.join(" ");
      const isTaken = places.some((place) => taken.has(place));
      if (isTaken && !parts.has(key)) continue;
      for (const place of places) taken.add(place);
      const said = places.flatMap((place) => askedBy(words[place] ?? ""));
      const all = parts.getOrInsertComputed(key, () => []);
      for (const [at, each] of meant.entries()) {
        const part = (all[at] ??= { words: [], meant: new Set() });
        if (at === meant.length - 1) part.words = said;
        for (const word of each) part.meant.add(word);
      }
    }
    const alone = new Set(words.filter((_, at) => !taken.has(at)).flatMap(askedBy));
    return [
      ...parts.values().toArray().flat(),
      ...[...alone].map((word) => ({ words: [word], meant: NOTHING })),
    ];
  }

  #add(phrase: string, meant: Phrase["meant"]): void {
    const words = phrase.split(GAP).flatMap((said, at) => {
      return at === 0 ? allWordsOf(said) : [GAP, ...allWordsOf(said)];
    });
    const [first] = words;
    if (first === undefined) return;
    this.#phrases.getOrInsertComputed(first, () => []).push({ words, meant });
  }
}

const NOTHING: ReadonlySet<string> = new Set();

/** Where the words of a phrase are, if it begins at a place. */
function placesOf(
  phrase: readonly string[],
  words: readonly string[],
  begin: number,
): readonly number[] | undefined {
  const places: number[] = [];
  let at = begin;
  for (const [index, word] of phrase.entries()) {
    if (word === GAP) {
      const next = words.indexOf(phrase[index + 1] ?? "", at);
      if (next <= at || next - at > LONGEST_GAP) return undefined;
      at = next;
    } else {
      if (words[at] !== word) return undefined;
      places.push(at);
      at++;
    }
  }
  return places;
}
