import type * as yaml from "yaml";
import type { Document, LineCounter, Node, Pair, YAMLMap } from "yaml";

import { describeProblem, unknownKey } from "../../../base/check.ts";
import { TrunklineError } from "../../../base/errors.ts";

type Library = typeof yaml;
type Path = readonly (string | number)[];

/** A file that is no such file at all has a problem in every line. */
const MAX_PROBLEMS = 20;
/** More than anybody writes by hand; a few lines can ask for billions, or for themselves. */
const MAX_MERGES = 1_000;
const MAX_LENGTH = 1_000_000;

/** A value in the file, and the way to it. */
export interface Place {
  readonly node: Node | null;
  readonly path: Path;
}

/** Reads a YAML file by the shape it should have, and notes what is not so, and where. */
export class YamlReader {
  readonly #file: string;
  readonly #yaml: Library;
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  readonly #problems: { readonly offset: number; readonly says: string }[] = [];
  readonly #complained = new Set<string>();
  readonly warnings: string[] = [];
  #merges = 0;

  constructor(file: string, text: string, library: Library) {
    this.#file = file;
    this.#yaml = library;
    this.#lines = new library.LineCounter();
    this.#document = this.#parse(text);
    for (const { pos, message } of this.#document.errors) {
      this.#problems.push({ offset: pos[0], says: message });
    }
    this.finish();
  }

  get root(): Place {
    return { node: this.#document.contents, path: [] };
  }

  /** Throws what was noted, if anything was. */
  finish(): void {
    if (this.#problems.length === 0) return;
    const told = this.#problems
      .toSorted((a, b) => a.offset - b.offset)
      .slice(0, MAX_PROBLEMS)
      .map(({ offset, says }) => `${this.#at(offset)}: ${says}`);
    const more = this.#problems.length - told.length;
    if (more > 0) told.push(`… and ${more} more`);
    throw new TrunklineError("config", told.join("\n"));
  }

  /** Only the first thing that is wrong with a value is told: others come of it. */
  complain(place: Place, says: string): void {
    const name = JSON.stringify(place.path);
    if (this.#complained.has(name)) return;
    this.#complained.add(name);
    this.#problems.push({ offset: offsetOf(place), says: sentence(place, says) });
  }

  warn(place: Place, says: string): void {
    this.warnings.push(`${this.#at(offsetOf(place))}: ${sentence(place, says)}`);
  }

  /** The members of an object. Nothing, and null, is an object without any. */
  members(place: Place): Map<string, Place> {
    const node = this.#resolve(place);
    if (this.#isNothing(node)) return new Map();
    if (this.#yaml.isMap(node)) return this.#membersOf(node, place.path);
    this.complain(place, "must be an object");
    return new Map();
  }

  items(place: Place | undefined): Place[] {
    if (place === undefined) return [];
    const node = this.#resolve(place);
    if (this.#isNothing(node)) return [];
    if (!this.#yaml.isSeq(node)) {
      this.complain(place, "must be a list");
      return [];
    }
    return node.items.map((item, index) => ({
      node: this.#yaml.isNode(item) ? item : null,
      path: [...place.path, index],
    }));
  }

  /** A text as it is written: `8080`, `010` and `true` are texts, too. Null is an empty one. */
  text(place: Place | undefined): string | undefined {
    if (place === undefined) return undefined;
    const node = this.#resolve(place);
    if (this.#isNothing(node)) return "";
    if (this.#yaml.isScalar(node)) return node.source ?? String(node.value);
    this.complain(place, "must be a text");
    return undefined;
  }

  boolean(place: Place | undefined): boolean | undefined {
    if (place === undefined) return undefined;
    const text = this.text(place)?.toLowerCase();
    if (text === undefined) return undefined;
    if (["true", "yes", "on", "y"].includes(text)) return true;
    if (["false", "no", "off", "n", ""].includes(text)) return false;
    this.complain(place, "must be true or false");
    return undefined;
  }

  texts(place: Place | undefined): string[] {
    return this.items(place).map((item) => this.text(item) ?? "");
  }

  textMap(place: Place | undefined): Record<string, string> {
    if (place === undefined) return {};
    const members = [...this.members(place)];
    return Object.fromEntries(members.map(([key, value]) => [key, this.text(value) ?? ""]));
  }

  /** What nobody here knows is passed over, as it always was, but not in silence. */
  warnOfUnknown(members: ReadonlyMap<string, Place>, known: readonly string[]): void {
    for (const [key, place] of members) {
      if (!known.includes(key)) this.warn(place, unknownKey(key, known));
    }
  }

  #parse(text: string): Document.Parsed {
    if (text.length > MAX_LENGTH) {
      const message = `Cannot read '${this.#file}': it is longer than ${MAX_LENGTH} characters`;
      throw new TrunklineError("config", message);
    }
    try {
      return this.#yaml.parseDocument(text, { lineCounter: this.#lines, prettyErrors: false });
    } catch (error) {
      // The parser calls itself for each level.
      const { message } = error as Error;
      throw new TrunklineError("config", `Cannot read '${this.#file}': ${message}`, {
        cause: error,
      });
    }
  }

  #membersOf(map: YAMLMap, path: Path): Map<string, Place> {
    const members = new Map<string, Place>();
    const merged: Place[] = [];
    for (const pair of map.items) {
      const key = this.#keyOf(pair);
      const node = this.#yaml.isNode(pair.value) ? pair.value : null;
      if (key === "<<") merged.push({ node, path });
      else members.set(key, { node: node ?? (pair.key as Node), path: [...path, key] });
    }
    // What is merged in gives way to what is there, and the later to the earlier.
    for (const place of merged) {
      this.#merges++;
      if (this.#merges > MAX_MERGES) {
        if (this.#merges === MAX_MERGES + 1) this.complain(place, "merges too much with '<<'");
        break;
      }
      const isList = this.#yaml.isSeq(this.#resolve(place));
      for (const from of isList ? this.items(place) : [place]) {
        for (const [key, value] of this.members({ ...from, path })) {
          if (!members.has(key)) members.set(key, value);
        }
      }
    }
    return members;
  }

  #keyOf({ key }: Pair): string {
    return this.#yaml.isScalar(key) ? (key.source ?? String(key.value)) : String(key);
  }

  #resolve(place: Place): Node | null {
    const { node } = place;
    if (!this.#yaml.isAlias(node)) return node;
    const found = node.resolve(this.#document);
    if (found === undefined) this.complain(place, `is '*${node.source}', but nothing is called so`);
    return found ?? null;
  }

  #isNothing(node: Node | null): boolean {
    return node === null || (this.#yaml.isScalar(node) && node.value === null);
  }

  #at(offset: number): string {
    const { line, col } = this.#lines.linePos(offset);
    return `${this.#file}:${line}:${col}`;
  }
}

function offsetOf({ node }: Place): number {
  return node?.range?.[0] ?? 0;
}

function sentence({ path }: Place, says: string): string {
  return path.length === 0 ? `the file ${says}` : describeProblem("", { path: [...path], says });
}
