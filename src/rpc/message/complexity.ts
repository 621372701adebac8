import { endOfString, estimateEscapes } from "./json-text.ts";
import { type KeyCosts, ObjectShapes } from "./object-shapes.ts";

/**
 * The estimated work of measuring and parsing a text, in units of about 50 ns. `JSON.parse`
 * of 10 MiB takes 20 ms when it is one string and 1.7 s when it is `[[[[…`; a byte limit alone does
 * not protect the event loop.
 */
export interface Complexity {
  readonly work: number;
  readonly depth: number;
  /** It ends inside of a string, so it is no JSON. */
  readonly isCutOff: boolean;
}

export interface ComplexityLimits {
  readonly maxWork: number;
  readonly maxDepth: number;
}

/** Texts up to this length are parsed without a check: the worst of them costs a millisecond or two. */
export const UNSEEN = 8 * 1024;
/** Up to this length only the depth is checked: the worst of them costs ten milliseconds. */
export const CHEAP = 64 * 1024;

// What each thing costs at its worst.
const ELEMENT = 1.5;
const OPENING = 3;
const CLOSING = 1.5;
/** A digit of a number, or white space. */
const CHARACTER = 0.6;
const STRING = 3;
/** Strings of up to ten characters are looked up in a table of all strings. */
const SHORT_STRING = 12;
const SHORT = 10;
/** As long as ten characters can be made with escapes. */
const SHORT_ESCAPED = 6 * SHORT;
const ESCAPE = 0.75;
/** A known key is not looked up again. */
const KEY: KeyCosts = { new: 60, known: 1.5, table: 30 };

const QUOTE = 0x22;

/** Whether a text is nested deeper than so many levels. */
export function isDeeper(text: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth++;
        if (depth > levels) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      default:
    }
  }
  return false;
}

/** Measures a text, and stops as soon as it is over one of the limits. */
export function measureComplexity(text: string, limits: ComplexityLimits): Complexity {
  const shapes = new ObjectShapes(KEY);
  const escapes = estimateEscapes(text);
  const short = escapes === 0 ? SHORT : SHORT_ESCAPED;
  let work = ESCAPE * escapes;
  let depth = 0;
  let deepest = 0;
  let keyFrom = 0;
  let keyTo = 0;
  let keyCost = 0;
  for (let at = 0; at < text.length && work <= limits.maxWork; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        keyFrom = at + 1;
        at = keyTo = endOfString(text, at);
        keyCost = keyTo - keyFrom > short ? STRING : SHORT_STRING;
        work += keyCost;
        break;
      case 0x5b: // [
      case 0x7b: // {
        work += OPENING;
        depth++;
        if (depth > deepest) deepest = depth;
        shapes.open(depth);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        work += CLOSING;
        if (depth > 0) depth--;
        break;
      case 0x2c: // ,
        work += ELEMENT;
        break;
      case 0x3a: // :
        work += shapes.addKey(depth, text, keyFrom, keyTo) - keyCost;
        break;
      default:
        work += CHARACTER;
    }
    if (deepest > limits.maxDepth) break;
  }
  return { work, depth: deepest, isCutOff: keyTo === text.length };
}
