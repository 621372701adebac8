import type { JsonObject } from "@bufbuild/protobuf";
import type * as yaml from "yaml";

import { TrunklineError } from "../../base/errors.ts";
import { toStruct } from "../../protocol/bus/shape/json-struct.ts";
import type { Document } from "./storage.ts";

/** Bytes of metadata: what is written by hand at the head of a text is far less. */
export const MAX_FRONTMATTER = 256 * 1024;

const DELIMITER = "---";
const EMPTY = Buffer.from(`${DELIMITER}\n${DELIMITER}\n\n`);
const [LF, CR] = [0x0a, 0x0d];

/** Strings in quotes that other readers of YAML could take otherwise, though they need not. */
const QUOTED = /^\s|[\t\r]| (?:\n|$)|\n\n$|^=$|^\d{4}-/;
/** Characters that YAML knows only by their number. */
const ESCAPED = /[^\P{Cc}\n]|[\u2028\u2029\ufeff\ufffe\uffff]/gu;

type Library = typeof yaml;

/** The document in a file: metadata between two lines `---`, if it begins so, and the content. */
export async function parseMarkdown(path: string, file: Buffer): Promise<Document> {
  const parts = split(path, file);
  if (parts === undefined) return { content: file };
  const metadata = parseFrontmatter(path, parts.frontmatter, await import("yaml"));
  const { content } = parts;
  return Object.keys(metadata).length === 0 ? { content } : { content, metadata };
}

/** The file of a document: `parseMarkdown` finds the same in it. */
export async function formatMarkdown(path: string, document: Document): Promise<Buffer> {
  const { content } = document;
  const metadata = toStruct(document.metadata ?? {}, "metadata");
  if (Object.keys(metadata).length === 0) {
    // What begins like metadata would be taken for it.
    return Buffer.concat(isDelimited(content) ? [EMPTY, content] : [content]);
  }
  const text = formatFrontmatter(metadata, await import("yaml"));
  if (Buffer.byteLength(text) > MAX_FRONTMATTER) {
    const why = `its metadata is longer than ${MAX_FRONTMATTER} bytes`;
    throw new TrunklineError("limit", `Cannot write '${path}': ${why}`);
  }
  return Buffer.concat([Buffer.from(`${DELIMITER}\n${text}${DELIMITER}\n\n`), content]);
}

function split(path: string, file: Buffer): { frontmatter: Buffer; content: Buffer } | undefined {
  if (!isDelimited(file)) return undefined;
  const begin = file.indexOf(LF);
  for (let at = begin; ; at++) {
    at = file.indexOf(`\n${DELIMITER}`, at);
    if (at < 0) throw malformed(path, `the line '${DELIMITER}' that ends it is missing`);
    const end = endOfLine(file, at + 1 + DELIMITER.length);
    if (end === undefined) continue;
    // A blank line between the two belongs to neither.
    const content = file.subarray(endOfLine(file, end) ?? end);
    return { frontmatter: file.subarray(begin + 1, at + 1), content };
  }
}

/** Whether the first line, which is not the last, is `---`. */
function isDelimited(bytes: Uint8Array): boolean {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.toString("latin1", 0, DELIMITER.length) !== DELIMITER) return false;
  const end = endOfLine(file, DELIMITER.length);
  return end !== undefined && file[end - 1] === LF;
}

/** Where the next line begins, if there is nothing more in this one. */
function endOfLine(file: Buffer, from: number): number | undefined {
  let at = from;
  while (file[at] === CR) at++;
  if (file[at] === LF) return at + 1;
  return at === file.length ? at : undefined;
}

function parseFrontmatter(path: string, bytes: Buffer, library: Library): JsonObject {
  if (bytes.length > MAX_FRONTMATTER) {
    throw malformed(path, `it is longer than ${MAX_FRONTMATTER} bytes`);
  }
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const lineCounter = new library.LineCounter();
    const options = { lineCounter, prettyErrors: false, merge: true, uniqueKeys: false };
    const document = library.parseDocument(text, options);
    const [problem] = [...document.errors, ...keyProblems(document, library)];
    if (problem !== undefined) {
      // The line before the first is the delimiter.
      const line = lineCounter.linePos(problem.pos[0]).line + 1;
      throw new Error(`line ${line}: ${problem.message}`);
    }
    value = document.toJS() ?? {};
  } catch (error) {
    throw malformed(path, (error as Error).message, error);
  }
  try {
    return toStruct(value, "it");
  } catch (error) {
    throw malformed(path, (error as Error).message.replace(/^.*?: /, ""), error);
  }
}

/** The library's own search for keys that are there twice takes the square of their number. */
function keyProblems(
  document: yaml.Document.Parsed,
  library: Library,
): { readonly pos: readonly [number, number]; readonly message: string }[] {
  const problems: { pos: [number, number]; message: string }[] = [];
  library.visit(document, {
    Map(_, { items }) {
      const seen = new Set<string>();
      for (const { key } of items) {
        const at = (key as yaml.Node | null)?.range?.[0] ?? 0;
        const name = library.isScalar(key) ? String(key.value) : undefined;
        if (name !== undefined && !seen.has(name)) seen.add(name);
        else {
          const message = name === undefined ? "a key must be a text" : `'${name}' is there twice`;
          problems.push({ pos: [at, at], message });
        }
      }
    },
  });
  return problems;
}

function formatFrontmatter(metadata: JsonObject, library: Library): string {
  // Texts that old readers, Orchestra's among them, take for dates or numbers are quoted, too.
  const document = new library.Document(metadata, {
    compat: "yaml-1.1",
    sortMapEntries: true,
    aliasDuplicateObjects: false,
  });
  library.visit(document, {
    Scalar(_, node) {
      if (typeof node.value !== "string") return;
      if (QUOTED.test(node.value) || node.value.search(ESCAPED) >= 0) node.type = "QUOTE_DOUBLE";
    },
  });
  const style = { lineWidth: 0, blockQuote: "literal", doubleQuotedAsJSON: true } as const;
  return document.toString(style).replace(ESCAPED, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function malformed(path: string, why: string, cause?: unknown): TrunklineError {
  const message = `Cannot read the frontmatter of '${path}': ${why}. Fix the file, or delete it`;
  return new TrunklineError("config", message, { cause });
}
