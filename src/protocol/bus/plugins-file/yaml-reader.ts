import type * as yaml from "yaml";
import type { Document, LineCounter, Node } from "yaml";

import { describeProblem, isObject, unknownKey } from "../../../base/check.ts";
import { TrunklineError } from "../../../base/errors.ts";

type Path = readonly (string | number)[];

/** A file that is no such file at all has a problem in every line. */
const MAX_PROBLEMS = 20;
/** Aliases and merges: more than anybody writes by hand. A few lines can ask for billions. */
const MAX_ALIASES = 1_000;
const MAX_LENGTH = 1_000_000;

/** A value in the file, and the way to it. */
export interface YamlValue {
  readonly value: unknown;
  readonly path: Path;
}

/**
 * Reads a YAML file by the shape it should have, and notes what is not so, and where. A value is the text
 * that is written: `8080`, `010` and `true` are texts, too.
 */
export class YamlReader {
  readonly root: YamlValue;
  readonly warnings: string[] = [];
  readonly #file: string;
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  readonly #problems: { readonly offset: number; readonly says: string }[] = [];
  readonly #complained = new Set<string>();

  constructor(file: string, text: string, library: typeof yaml) {
    this.#file = file;
    this.#lines = new library.LineCounter();
    try {
      if (text.length > MAX_LENGTH) throw new Error(`it is longer than ${MAX_LENGTH} characters`);
      const document = library.parseDocument(text, {
        ...{ schema: "failsafe", customTags: ["null"], merge: true },
        ...{ lineCounter: this.#lines, prettyErrors: false },
      });
      this.#document = document;
      for (const { pos, message } of document.errors) {
        this.#problems.push({ offset: pos[0], says: message });
      }
      let aliases = 0;
      library.visit(document, {
        Alias: (_, alias) => {
          if (++aliases > MAX_ALIASES) throw new Error(`it has more than ${MAX_ALIASES} aliases`);
          if (alias.resolve(document) !== undefined) return;
          const says = `there is no anchor '&${alias.source}'`;
          this.#problems.push({ offset: alias.range?.[0] ?? 0, says });
        },
      });
      this.finish();
      this.root = { value: document.toJS({ maxAliasCount: MAX_ALIASES }), path: [] };
    } catch (error) {
      if (error instanceof TrunklineError) throw error;
      const { message } = error as Error;
      throw new TrunklineError("config", `Cannot read '${file}': ${message}`, { cause: error });
    }
  }

  /** Throws the problems that were noted, if there are any. */
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

  /** Only the first problem of a value is reported: further ones follow from it. */
  complain(at: YamlValue, says: string): void {
    const name = JSON.stringify(at.path);
    if (this.#complained.has(name)) return;
    this.#complained.add(name);
    this.#problems.push({ offset: this.#offsetOf(at), says: sentence(at, says) });
  }

  warn(at: YamlValue, says: string): void {
    this.warnings.push(`${this.#at(this.#offsetOf(at))}: ${sentence(at, says)}`);
  }

  /** The members of an object. Nothing, and null, is an object without any. */
  members(at: YamlValue): Map<string, YamlValue> {
    const value = at.value ?? {};
    if (!isObject(value)) {
      this.complain(at, "must be an object");
      return new Map();
    }
    const members = Object.entries(value);
    return new Map(
      members.map(([key, member]) => [key, { value: member, path: [...at.path, key] }]),
    );
  }

  items(at: YamlValue | undefined): YamlValue[] {
    const value = at?.value ?? [];
    if (Array.isArray(value)) {
      return value.map((item, index) => ({ value: item, path: [...(at?.path ?? []), index] }));
    }
    if (at !== undefined) this.complain(at, "must be a list");
    return [];
  }

  /** Null is an empty text. */
  text(at: YamlValue | undefined): string | undefined {
    if (at === undefined) return undefined;
    const value = at.value ?? "";
    if (typeof value === "string") return value;
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

  /** Unknown keys are ignored, as Orchestra does, with a warning. */
  warnOfUnknown(members: ReadonlyMap<string, YamlValue>, known: readonly string[]): void {
    for (const [key, at] of members) {
      if (!known.includes(key)) this.warn(at, unknownKey(key, known));
    }
  }

  /** Where a value begins. One that was merged in, or is behind an alias, is where that is used. */
  #offsetOf({ path }: YamlValue): number {
    for (let steps = path.length; steps >= 0; steps--) {
      const node = this.#document.getIn(path.slice(0, steps), true) as Node | null | undefined;
      if (node?.range) return node.range[0];
    }
    return 0;
  }

  #at(offset: number): string {
    const { line, col } = this.#lines.linePos(offset);
    return `${this.#file}:${line}:${col}`;
  }
}

function sentence({ path }: YamlValue, says: string): string {
  return path.length === 0 ? `the file ${says}` : describeProblem("", { path: [...path], says });
}
