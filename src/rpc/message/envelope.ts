import { endOfString } from "./json-text.ts";

/** Where a member's value stands in a text. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What a JSON object says at its first level, found without parsing what is below. */
export interface Envelope {
  readonly id?: Span;
  readonly method?: Span;
  /** It has a `result` or an `error`. */
  readonly isResponse: boolean;
  /** A key is repeated, or spelt with escapes: two parsers may read it differently. */
  readonly isAmbiguous: boolean;
}

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Reads the first level of a JSON object. The text may be cut off anywhere: what stands before the
 * cut is found. It is not a validator; given text that is not JSON it finds little, and stops.
 */
export function readEnvelope(text: string): Envelope {
  let id: Span | undefined;
  let method: Span | undefined;
  let isResponse = false;
  let isAmbiguous = false;
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) === OPEN_BRACE) {
    at = skipSpace(text, at + 1);
    while (text.charCodeAt(at) === QUOTE) {
      const keyEnd = endOfString(text, at);
      const key = text.slice(at + 1, keyEnd);
      at = skipSpace(text, keyEnd + 1);
      if (text.charCodeAt(at) !== COLON) break;
      const from = skipSpace(text, at + 1);
      const to = skipValue(text, from);
      if (to < 0) break;
      const span = { from, to };
      if (key === "id") {
        isAmbiguous ||= id !== undefined;
        id = span;
      } else if (key === "method") {
        isAmbiguous ||= method !== undefined;
        method = span;
      } else if (key === "result" || key === "error") isResponse = true;
      else if (key.includes("\\")) isAmbiguous = true;
      at = skipSpace(text, to);
      if (text.charCodeAt(at) !== COMMA) break;
      at = skipSpace(text, at + 1);
    }
  }
  return {
    ...(id === undefined ? {} : { id }),
    ...(method === undefined ? {} : { method }),
    isResponse,
    isAmbiguous,
  };
}

/** The texts of a JSON array's elements, as they stand. */
export function readElements(text: string): string[] {
  const elements: string[] = [];
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== OPEN_BRACKET) return elements;
  do {
    const from = skipSpace(text, at + 1);
    const to = text.charCodeAt(from) === CLOSE_BRACKET ? -1 : skipValue(text, from);
    if (to < 0) break;
    elements.push(text.slice(from, to));
    at = skipSpace(text, to);
  } while (text.charCodeAt(at) === COMMA);
  return elements;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  let c = text.charCodeAt(at);
  while (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) c = text.charCodeAt(++at);
  return at;
}

/** Past the value that starts at `from`; -1 when the text is cut off inside it. */
function skipValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  let at: number;
  if (first === QUOTE) at = endOfString(text, from) + 1;
  else if (first === OPEN_BRACE || first === OPEN_BRACKET) at = skipNested(text, from);
  else at = skipScalar(text, from);
  return at > text.length ? -1 : at;
}

function skipNested(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) at = endOfString(text, at);
    else if (c === OPEN_BRACE || c === OPEN_BRACKET) depth++;
    else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return text.length + 1;
}

function skipScalar(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === COMMA || c === CLOSE_BRACE || c === CLOSE_BRACKET || c <= 0x20) return at;
  }
  return text.length + 1;
}
