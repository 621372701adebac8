import { endOfString } from "./json-text.ts";

/**
 * How much work a text makes for a parser, in units of about 50 ns: an element of an array is one,
 * a container four more, a member of an object eight more (its key must be looked up). `JSON.parse`
 * of 10 MiB takes 20 ms when it is one string and 1.7 s when it is `[[[[…`; a byte limit alone does
 * not protect the event loop.
 */
export interface Complexity {
  readonly work: number;
  readonly depth: number;
}

export interface ComplexityLimits {
  readonly maxWork: number;
  readonly maxDepth: number;
}

/** Texts below this length are parsed unseen: the worst of them costs less than a millisecond. */
export const SCAN_FROM = 8192;

const QUOTE = 0x22;

/** Measures a text, and stops as soon as it is over one of the limits. */
export function measureComplexity(text: string, limits: ComplexityLimits): Complexity {
  let work = 0;
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        continue;
      case 0x5b: // [
      case 0x7b: // {
        work += 5;
        depth++;
        if (depth > deepest) deepest = depth;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        continue;
      case 0x2c: // ,
        work += 1;
        break;
      case 0x3a: // :
        work += 8;
        break;
      default:
        continue;
    }
    if (work > limits.maxWork || deepest > limits.maxDepth) break;
  }
  return { work, depth: deepest };
}
