import { measureComplexity, SCAN_FROM } from "./complexity.ts";
import { STANDARD } from "./codes.ts";
import type { PeerLimits } from "./peer-options.ts";
import { RpcError } from "./rpc-error.ts";

/** The value of a message's text, or the error to answer it with. */
export function parseMessage(text: string, limits: PeerLimits): unknown {
  if (text.length > SCAN_FROM) {
    const { work, depth } = measureComplexity(text, limits);
    if (depth > limits.maxDepth) return tooComplex(`nested deeper than ${limits.maxDepth} levels`);
    if (work > limits.maxWork) return tooComplex("made of too many values");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return RpcError.of(STANDARD.parse, undefined, { detail });
  }
}

function tooComplex(what: string): RpcError {
  return RpcError.of(STANDARD.invalidRequest, `message is ${what}`);
}
