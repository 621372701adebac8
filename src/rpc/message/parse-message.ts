import { CHEAP, isDeeper, measureComplexity, UNSEEN } from "./complexity.ts";
import { STANDARD } from "../codes.ts";
import type { PeerLimits } from "../peer-options.ts";
import { RpcError } from "../rpc-error.ts";

/** The value of a message's text, or the error to answer it with. */
export function parseMessage(text: string, limits: PeerLimits): unknown {
  const refusal = text.length > UNSEEN ? tooComplex(text, limits) : undefined;
  if (refusal !== undefined) return refusal;
  try {
    return JSON.parse(text);
  } catch (error) {
    return notJson(error instanceof Error ? error.message : String(error));
  }
}

function tooComplex(text: string, limits: PeerLimits): RpcError | undefined {
  const tooDeep = `nested deeper than ${limits.maxDepth} levels`;
  if (text.length <= CHEAP) return isDeeper(text, limits.maxDepth) ? refuse(tooDeep) : undefined;
  const { work, depth, isCutOff } = measureComplexity(text, limits);
  if (depth > limits.maxDepth) return refuse(tooDeep);
  if (work > limits.maxWork) return refuse("made of too many values");
  return isCutOff ? notJson("Unterminated string") : undefined;
}

function notJson(detail: string): RpcError {
  return RpcError.of(STANDARD.parse, undefined, { detail });
}

function refuse(what: string): RpcError {
  return RpcError.of(STANDARD.invalidRequest, `message is ${what}`);
}
