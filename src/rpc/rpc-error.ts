import { attempt } from "../base/attempt.ts";
import { diskWords, originalError, type ErrorCode, TrunklineError } from "../base/errors.ts";
import { maskWhole } from "../base/text/mask.ts";
import { visible } from "../base/text/visible.ts";
import { ACP, type Code, STANDARD, TRUNKLINE } from "./codes.ts";
import type { FrameFault } from "../wire/channel.ts";

/** An error that crosses the wire. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    // An answer needs no stack trace, which would cost more than the rest of a refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.data = data;
  }

  /** An error with the code's own message, followed by a detail: `Invalid params: 'x' is missing`. */
  static of(code: Code, detail?: string, data?: unknown): RpcError {
    const message = detail === undefined ? code.message : `${code.message}: ${detail}`;
    return new RpcError(code.code, message, data);
  }
}

/** The body of an error response. */
export function errorText(error: RpcError): string {
  const { code, data } = error;
  // People read the message, and it often contains text of others.
  const message = visible(maskWhole(error.message));
  // Data that JSON cannot hold must not cost the caller its answer.
  return attempt(() => JSON.stringify({ code, message, data }), JSON.stringify({ code, message }));
}

/** -32603 is for faults of the program only. */
const CODE_OF: Record<ErrorCode, Code> = {
  usage: STANDARD.invalidParams,
  config: TRUNKLINE.config,
  untrusted: TRUNKLINE.refused,
  "not-found": STANDARD.invalidParams,
  unavailable: TRUNKLINE.unavailable,
  timeout: ACP.timeout,
  cancelled: ACP.cancelled,
  limit: TRUNKLINE.busy,
  closed: TRUNKLINE.closed,
  conflict: STANDARD.invalidParams,
};

/**
 * Turns a local failure into an error for the wire; nothing else does. Our own errors and disk errors keep
 * their messages. Any other is a bug: the caller gets only an id, under which `report` gets the cause.
 */
export function toRpcError(
  failure: unknown,
  report: (correlationId: string, cause: unknown) => void,
): RpcError {
  const error = originalError(failure);
  if (error instanceof RpcError) return error;
  if (error instanceof TrunklineError) return fromOurs(error);
  const words = diskWords(error);
  if (words !== undefined) return RpcError.of(TRUNKLINE.storage, words);
  const correlationId = crypto.randomUUID();
  report(correlationId, failure);
  return RpcError.of(STANDARD.internal, undefined, { correlationId });
}

function fromOurs({ code, message }: TrunklineError): RpcError {
  // The message of the code is about requests in flight, which is only one of the limits.
  if (code === "limit") return new RpcError(CODE_OF.limit.code, message);
  return RpcError.of(CODE_OF[code], message);
}

/** The answer to a message that could not be read whole. */
export function faultError({ kind, size, limit }: FrameFault): RpcError {
  if (kind === "encoding") return RpcError.of(STANDARD.parse, "message is not valid UTF-8");
  if (kind === "busy") return RpcError.of(TRUNKLINE.busy, "too much is buffered: try again later");
  const tooLarge = `message of ${size} bytes is over the limit of ${limit}`;
  return RpcError.of(STANDARD.invalidRequest, tooLarge, { size, limit });
}
