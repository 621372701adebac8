import {
  createScanner,
  findNodeAtLocation,
  type Node,
  parse,
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

interface Problem {
  readonly offset: number;
  readonly says: string;
  /** Another place that it is about. */
  readonly other?: number;
}

const OPTIONS = { allowTrailingComma: true, allowEmptyContent: true };

/** Parses JSON with comments and trailing commas. The error lists the mistakes of the file. */
export function parseFile(path: string, text: string): ParsedFile {
  const position = (offset = 0): string => positionIn(text, offset);
  // A space instead of the byte order mark keeps all offsets.
  const body = text.replace(/^\ufeff/, " ");
  const deep = findTooDeep(text);
  if (deep !== undefined) throw mistakes(path, [{ offset: deep, says: TOO_DEEP }], position);
  const errors: ParseError[] = [];
  const root = parseTree(body, errors, OPTIONS);
  const unreadable = errors.map(({ error, offset }) => {
    const name = printParseErrorCode(error);
    return { offset, says: WORDS[name] ?? name };
  });
  const problems = [...unreadable, ...(root === undefined ? [] : wrongKeys(root))];
  if (problems.length > 0) throw mistakes(path, problems, position);
  const find = (at: KeyPath): Node | undefined => {
    for (let length = at.length; length > 0; length--) {
      const node = root && findNodeAtLocation(root, at.slice(0, length));
      if (node !== undefined) return node;
    }
    return root;
  };
  return {
    value: root === undefined ? {} : (parse(body, [], OPTIONS) as unknown),
    valuePosition: (at) => position(find(at)?.offset),
    keyPosition: (at) => {
      const node = find(at);
      return position((node?.parent?.type === "property" ? node.parent : node)?.offset);
    },
  };
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

/** Keys that are set twice, or that JavaScript would not set. */
function wrongKeys(node: Node): Problem[] {
  const first = new Map<string, number>();
  const own = (node.type === "object" ? (node.children ?? []) : []).flatMap(
    ({ offset, children: [key] = [] }) => {
      const name = String(key?.value);
      const other = first.get(name);
      if (other !== undefined) return [{ offset, says: `'${name}' is already set`, other }];
      first.set(name, offset);
      return name === "__proto__" ? [{ offset, says: "'__proto__' cannot be a key" }] : [];
    },
  );
  return [...own, ...(node.children ?? []).flatMap((child) => wrongKeys(child))];
}

function mistakes(
  path: string,
  problems: readonly Problem[],
  position: (offset: number) => string,
): TrunklineError {
  const sorted = problems.toSorted((a, b) => a.offset - b.offset);
  const told = sorted.slice(0, MAX_PROBLEMS).map(({ offset, says, other }) => {
    const where = other === undefined ? "" : ` at ${position(other)}`;
    return `${path}:${position(offset)}: ${says}${where}`;
  });
  const more = sorted.length - told.length;
  if (more > 0) told.push(`… and ${more} more`);
  return new TrunklineError("config", told.join("\n"));
}

/** `LINE:COLUMN` from 1, as editors and compilers write it. They do not count a byte order mark. */
function positionIn(text: string, offset: number): string {
  const lines = text
    .slice(0, offset)
    .replace(/^\ufeff/, "")
    .split("\n");
  return `${lines.length}:${(lines.at(-1) ?? "").length + 1}`;
}
