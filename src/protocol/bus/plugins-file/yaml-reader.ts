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
export interface YamlValue {
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

  get root(): YamlValue {
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
  complain(at: YamlValue, says: string): void {
    const name = JSON.stringify(at.path);
    if (this.#complained.has(name)) return;
    this.#complained.add(name);
    this.#problems.push({ offset: offsetOf(at), says: sentence(at, says) });
  }

  warn(at: YamlValue, says: string): void {
    this.warnings.push(`${this.#at(offsetOf(at))}: ${sentence(at, says)}`);
  }

  /** The members of an object. Nothing, and null, is an object without any. */
  members(at: YamlValue): Map<string, YamlValue> {
    const node = this.#resolve(at);
    if (this.#isNothing(node)) return new Map();
    if (this.#yaml.isMap(node)) return this.#membersOf(node, at.path);
    this.complain(at, "must be an object");
    return new Map();
  }

  items(at: YamlValue | undefined): YamlValue[] {
    if (at === undefined) return [];
    const node = this.#resolve(at);
    if (this.#isNothing(node)) return [];
    if (!this.#yaml.isSeq(node)) {
      this.complain(at, "must be a list");
      return [];
    }
    return node.items.map((item, index) => ({
      node: this.#yaml.isNode(item) ? item : null,
      path: [...at.path, index],
    }));
  }

  /** A text as it is written: `8080`, `010` and `true` are texts, too. Null is an empty one. */
  text(at: YamlValue | undefined): string | undefined {
    if (at === undefined) return undefined;
    const node = this.#resolve(at);
    if (this.#isNothing(node)) return "";
    if (this.#yaml.isScalar(node)) return node.source ?? String(node.value);
    this.complain(at, "must be a text");
    return undefined;
  }

  boolean(at: YamlValue | undefined): boolean | undefined {
    if (at === undefined) return undefined;
    const text = this.text(at)?.toLowerCase();
    if (text === undefined) return undefined;
    if (["true", "yes", "on", "y"].includes(text)) return true;
    if (["false", "no", "off", "n", ""].includes(text)) return false;
    this.complain(at, "must be true or false");
    return undefined;
  }

  texts(at: YamlValue | undefined): string[] {
    return this.items(at).map((item) => this.text(item) ?? "");
  }

  textMap(at: YamlValue | undefined): Record<string, string> {
    if (at === undefined) return {};
    const members = [...this.members(at)];
    return Object.fromEntries(members.map(([key, value]) => [key, this.text(value) ?? ""]));
  }

  /** What nobody here knows is passed over, as it always was, but not in silence. */
  warnOfUnknown(members: ReadonlyMap<string, YamlValue>, known: readonly string[]): void {
    for (const [key, at] of members) {
      if (!known.includes(key)) this.warn(at, unknownKey(key, known));
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

  #membersOf(map: YAMLMap, path: Path): Map<string, YamlValue> {
    const members = new Map<string, YamlValue>();
    const merged: YamlValue[] = [];
    for (const pair of map.items) {
      const key = this.#keyOf(pair);
      const node = this.#yaml.isNode(pair.value) ? pair.value : null;
      if (key === "<<") merged.push({ node, path });
      else members.set(key, { node: node ?? (pair.key as Node), path: [...path, key] });
    }
    // What is merged in gives way to what is there, and the later to the earlier.
    for (const at of merged) {
      this.#merges++;
      if (this.#merges > MAX_MERGES) {
        if (this.#merges === MAX_MERGES + 1) this.complain(at, "merges too much with '<<'");
        break;
      }
      const isList = this.#yaml.isSeq(this.#resolve(at));
      for (const from of isList ? this.items(at) : [at]) {
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

  #resolve(at: YamlValue): Node | null {
    const { node } = at;
    if (!this.#yaml.isAlias(node)) return node;
    const found = node.resolve(this.#document);
    if (found === undefined) this.complain(at, `is '*${node.source}', but nothing is called so`);
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

function offsetOf({ node }: YamlValue): number {
  return node?.range?.[0] ?? 0;
}

function sentence({ path }: YamlValue, says: string): string {
  return path.length === 0 ? `the file ${says}` : describeProblem("", { path: [...path], says });
}
