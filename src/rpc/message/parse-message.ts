import { CHEAP, type ComplexityLimits, isDeeper, measureComplexity, UNSEEN } from "./complexity.ts";
import { STANDARD } from "../codes.ts";
import { RpcError } from "../rpc-error.ts";

/** A text whose parsing takes more work than the limit. */
export const TOO_MUCH = Symbol("too much work");

/** The value of a message's text, or the error to answer it with. */
export function parseMessage(text: string, limits: ComplexityLimits): unknown {
  const value = tryParse(text, limits);
  return value === TOO_MUCH ? refuse("made of too many values") : value;
}

/** The same, with `TOO_MUCH` for one that may be parsed in another thread. */
export function tryParse(text: string, limits: ComplexityLimits): unknown {
  const refusal = text.length > UNSEEN ? tooComplex(text, limits) : undefined;
  if (refusal !== undefined) return refusal;
  try {
    return JSON.parse(text);
  } catch (error) {
    return notJson(error instanceof Error ? error.message : String(error));
  }
}

function tooComplex(
  text: string,
  limits: ComplexityLimits,
): RpcError | typeof TOO_MUCH | undefined {
  const tooDeep = `nested deeper than ${limits.maxDepth} levels`;
  if (text.length <= CHEAP) return isDeeper(text, limits.maxDepth) ? refuse(tooDeep) : undefined;
  const { work, depth, isCutOff } = measureComplexity(text, limits);
  if (depth > limits.maxDepth) return refuse(tooDeep);
  if (work > limits.maxWork) return TOO_MUCH;
  return isCutOff ? notJson("Unterminated string") : undefined;
}

function notJson(detail: string): RpcError {
  return RpcError.of(STANDARD.parse, undefined, { detail });
}

export function refuse(what: string): RpcError {
  return RpcError.of(STANDARD.invalidRequest, `message is ${what}`);
}
