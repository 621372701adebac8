import {
  createScanner,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";

import { TrunklineError } from "../../base/errors.ts";
import type { KeyPath } from "../layer.ts";

/** Deeper than any configuration, and far below the depth at which a parser overflows the stack. */
const MAX_DEPTH = 64;
export const TOO_DEEP = `nested more than ${MAX_DEPTH} levels deep`;
/** Only the first problems are reported: a file that is not JSON at all has one in every word. */
const MAX_PROBLEMS = 20;

/**
 * jsonc-parser's SyntaxKind. It is a const enum, which cannot be used where types are stripped file by
 * file.
 */
const TOKEN = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, endOfFile: 17 };

const WORDS: Readonly<Record<string, string>> = {
  InvalidSymbol: "this is not a JSON value",
  InvalidNumberFormat: "this is not a number",
  PropertyNameExpected: "expected a key in double quotes",
  ValueExpected: "expected a value",
  ColonExpected: "expected ':'",
  CommaExpected: "expected ','",
  CloseBraceExpected: "expected '}'",
  CloseBracketExpected: "expected ']'",
  EndOfFileExpected: "expected the end of the file",
  InvalidCommentToken: "a comment is not allowed here",
  UnexpectedEndOfComment: "this comment does not end",
  UnexpectedEndOfString: "this string does not end",
  UnexpectedEndOfNumber: "this number does not end",
  InvalidUnicode: "this is not a Unicode escape",
  InvalidEscapeCharacter: "this escape does not exist",
  InvalidCharacter: "this character must be escaped",
};

/** The parsed value of a file, and the position of each part of it. */
export interface ParsedFile {
  readonly value: unknown;
  /** `LINE:COLUMN` of a value; if it is not in the file, of the innermost value around it. */
  valuePosition(path: KeyPath): string;
  /** `LINE:COLUMN` of the key of a value. */
  keyPosition(path: KeyPath): string;
}

interface Position {
  readonly key: number;
  readonly value: number;
}

interface Problem {
  readonly offset: number;
  readonly says: string;
}

/** Parses JSON with comments and trailing commas. The error lists the mistakes of the file. */
export function parseFile(path: string, text: string): ParsedFile {
  const lines = new LineMap(text);
  const problems: Problem[] = [];
  const positions = new Map<string, Position>();
  const root = parse(text, problems);
  const value = root === undefined ? {} : read(root, [], positions, problems, lines);
  if (problems.length > 0) throw mistakes(path, problems, lines);
  const find = (at: KeyPath): Position => {
    for (let length = at.length; length > 0; length--) {
      const position = positions.get(positionName(at.slice(0, length)));
      if (position !== undefined) return position;
    }
    return { key: root?.offset ?? 0, value: root?.offset ?? 0 };
  };
  return {
    value,
    valuePosition: (at) => lines.position(find(at).value),
    keyPosition: (at) => lines.position(find(at).key),
  };
}

function parse(text: string, problems: Problem[]): Node | undefined {
  const deep = findTooDeep(text);
  if (deep !== undefined) {
    problems.push({ offset: deep, says: TOO_DEEP });
    return undefined;
  }
  const errors: ParseError[] = [];
  // A space instead of the byte order mark keeps all offsets.
  const body = text.replace(/^\ufeff/, " ");
  const root = parseTree(body, errors, { allowTrailingComma: true, allowEmptyContent: true });
  for (const { error, offset } of errors) {
    const name = printParseErrorCode(error);
    problems.push({ offset, says: WORDS[name] ?? name });
  }
  return root;
}

/** Where JSON with comments gets too deep for its parser, which recurses for each level. */
export function findTooDeep(text: string): number | undefined {
  const scanner = createScanner(text, true);
  let depth = 0;
  for (;;) {
    const token: number = scanner.scan();
    if (token === TOKEN.endOfFile) return undefined;
    if (token === TOKEN.openBrace || token === TOKEN.openBracket) depth++;
    else if (token === TOKEN.closeBrace || token === TOKEN.closeBracket) depth--;
    if (depth > MAX_DEPTH) return scanner.getTokenOffset();
  }
}

function read(
  node: Node,
  path: KeyPath,
  positions: Map<string, Position>,
  problems: Problem[],
  lines: LineMap,
): unknown {
  const children = node.children ?? [];
  if (node.type === "array") {
    return children.map((child, index) => {
      const here = [...path, index];
      positions.set(positionName(here), { key: child.offset, value: child.offset });
      return read(child, here, positions, problems, lines);
    });
  }
  if (node.type !== "object") return node.value as unknown;
  const object: Record<string, unknown> = {};
  for (const { children: [key, value] = [] } of children) {
    if (key === undefined || value === undefined) continue;
    const name = String(key.value);
    const here = [...path, name];
    const first = positions.get(positionName(here));
    if (first !== undefined) {
      const where = lines.position(first.key);
      problems.push({ offset: key.offset, says: `'${name}' is already set at ${where}` });
    } else if (name === "__proto__") {
      problems.push({ offset: key.offset, says: "'__proto__' cannot be a key" });
    } else {
      positions.set(positionName(here), { key: key.offset, value: value.offset });
      object[name] = read(value, here, positions, problems, lines);
    }
  }
  return object;
}

function positionName(path: KeyPath): string {
  return JSON.stringify(path);
}

function mistakes(path: string, problems: readonly Problem[], lines: LineMap): TrunklineError {
  const sorted = problems.toSorted((a, b) => a.offset - b.offset);
  const told = sorted.slice(0, MAX_PROBLEMS).map(({ offset, says }) => {
    return `${path}:${lines.position(offset)}: ${says}`;
  });
  const more = sorted.length - told.length;
  if (more > 0) told.push(`… and ${more} more`);
  return new TrunklineError("config", told.join("\n"));
}

/** Turns offsets into a text to lines and columns, both counted from 1. */
class LineMap {
  readonly #starts: readonly number[];
  readonly #hasMark: boolean;

  constructor(text: string) {
    const starts = [0];
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
      starts.push(at + 1);
    }
    this.#starts = starts;
    this.#hasMark = text.startsWith("\ufeff");
  }

  /** `LINE:COLUMN`, as editors and compilers write it. */
  position(offset: number): string {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    // Editors do not show a byte order mark, nor count it.
    const mark = low === 0 && this.#hasMark && offset > 0 ? 1 : 0;
    return `${low + 1}:${offset - (this.#starts[low] ?? 0) - mark + 1}`;
  }
}
