import type { RequestOptions } from "node:http";

import { boundedBody } from "./bounded-body.ts";
import { TrunklineError } from "./errors.ts";
import { ask, publicLookup, refusePrivate } from "./public-lookup.ts";

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Milliseconds. */
  readonly timeout: number;
  /** Addresses of this machine and of private networks are allowed. */
  readonly allowPrivate: boolean;
  readonly signal: AbortSignal;
  /** Bytes of the answer's body that are read; none when left out. */
  readonly most?: number;
}

export interface PostResult {
  readonly status: number;
  /** Milliseconds that the server asks to wait. */
  readonly retryAfter: number | undefined;
  /** Undefined if it was not requested, or is longer than `most`. */
  readonly body?: string | undefined;
}

/**
 * Sends a POST, and reads the status and up to `most` bytes of the body. Redirects are not followed. The
 * address is checked when the connection is made, because a name may resolve to another one by then.
 */
export async function post(url: URL, options: PostOptions): Promise<PostResult> {
  const { headers, body, timeout, allowPrivate, signal, most = 0 } = options;
  const limit = AbortSignal.timeout(timeout);
  const request: RequestOptions = {
    method: "POST",
    headers: { "user-agent": "trunkline", ...headers, "content-length": body.length },
    // A new connection, which ends with the request.
    agent: false,
    signal: AbortSignal.any([limit, signal]),
    ...(allowPrivate ? {} : { lookup: publicLookup(REFUSAL) }),
  };
  try {
    if (!allowPrivate) refusePrivate(url, REFUSAL);
    const answer = await ask(url, request, body);
    const { statusCode: status = 0, headers: answered } = answer;
    const read = most === 0 ? undefined : await boundedBody(answer, most);
    // Reading on would let the server keep the connection.
    answer.destroy();
    const text = read?.isCut === false ? read.body.toString() : undefined;
    return { status, retryAfter: waitOf(answered["retry-after"]), body: text };
  } catch (cause) {
    const why = limit.aborted
      ? `it did not answer within ${timeout / 1000} s`
      : signal.aborted
        ? "Trunkline was stopped"
        : (cause as Error).message || String((cause as NodeJS.ErrnoException).code);
    throw new TrunklineError("unavailable", `Cannot reach ${url.host}: ${why}`, { cause });
  }
}

function privateAddress(address: string): Error {
  const next = "Set its `allowPrivate` to allow it";
  return new Error(`${address} is an address of this machine or of a private network. ${next}`);
}

const REFUSAL = { refuse: privateAddress };

function waitOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d{1,6}$/.test(header)
    ? Number(header) * 1000
    : Date.parse(header) - Date.now();
  return seconds > 0 ? seconds : undefined;
}
