import { DEFAULT_LIMITS } from "../base/limit/limits.ts";
import type { Rate } from "../base/limit/rate-limiter.ts";
import type { ComplexityLimits } from "./message/complexity.ts";
import type { Sink } from "../wire/channel.ts";
import type { Routes } from "./route.ts";
import { type Code } from "./codes.ts";

/** Sees every message; set only if tracing is on. */
export interface Trace {
  /** The parsed message, or the error it was answered with. */
  received(message: unknown): void;
  /** `session` is what it belongs to, where that is known and not in the text. */
  sent(text: string, session?: unknown): void;
}

/** A request of the other side that has ended. */
export interface EndedRequest {
  readonly method: string;
  readonly params: unknown;
  /** The state of its connection. */
  readonly state: unknown;
  readonly milliseconds: number;
  readonly result?: unknown;
  /** The code of the error that it was answered with. */
  readonly error?: number;
  /** It was cancelled, and got no answer. */
  readonly isCancelled?: true;
}

/** Observes the requests of the other side; set only if they are observed. It must not throw. */
export type RequestObserver = (request: EndedRequest) => void;

/** How a request ended. */
export type RequestEnd = Pick<EndedRequest, "result" | "error" | "isCancelled">;

export interface PeerLimits extends ComplexityLimits {
  /** Requests of the other side that may wait for an answer at once. */
  readonly maxInFlight: number;
}

export function resolvePeerLimits(limits: Partial<PeerLimits> = {}): PeerLimits {
  const { maxInFlight, maxDepth, maxWork } = DEFAULT_LIMITS;
  return { maxInFlight, maxDepth, maxWork, ...limits };
}

export interface PeerOptions<S> {
  readonly dialect: Dialect;
  readonly routes: Routes<S>;
  readonly limits?: Partial<PeerLimits>;
  /** How many errors are answered without a pause; any number if it is left out. */
  readonly errorRate?: Rate;
  /** The id of our first request, where ids below it are in use already; 1 when left out. */
  readonly firstId?: number;
  readonly trace?: Trace;
  readonly observer?: RequestObserver | undefined;
  /** Observes our own requests; set only if they are observed. */
  readonly sent?: ((method: string, params: unknown, answer: Promise<unknown>) => void) | undefined;
  /** Wraps the peer as the receiver of the channel's messages; by default the peer gets them itself. */
  readonly receiver?: (peer: Sink<string>) => Sink<string>;
  /** Called with faults that are reported to nobody else. */
  readonly report?: (event: string, fields: Record<string, unknown>) => void;
}

/** What differs between the protocols that speak JSON-RPC, and nothing else. */
export interface Dialect {
  readonly name: string;
  /** Arrays of messages are answered; elsewhere they are an invalid request. */
  readonly batches: boolean;
  /** A message with a method and `"id": null` is a notification; elsewhere an invalid request. */
  readonly nullIdIsNotification: boolean;
  readonly cancel: {
    /** The notification that names a request to give up. */
    readonly method: string;
    /** The parameter that names it: `requestId`, when left out. */
    readonly param?: "id";
    /** The error that answers a cancelled request; left out if the specification forbids an answer. */
    readonly answer?: Code;
  };
  /** The message of -32601. */
  readonly methodNotFound: (method: string) => string;
}
