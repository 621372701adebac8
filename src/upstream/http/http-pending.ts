import { parsedJson } from "../../base/check.ts";
import { CHEAP } from "../../rpc/message/complexity.ts";
import { recoverUnparsed } from "../../rpc/message/message.ts";
import type { HttpExchange } from "./http-exchange.ts";
import { claimedRevision, type HttpRequestBody } from "./http-headers.ts";

/** A message of either side. It is inspected here, and checked by the peer. */
export interface HttpMessage extends HttpRequestBody {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
}

/** A request of ours whose answer has not come. */
export interface HttpPending {
  readonly id: string | number;
  readonly method: string;
  /** Its progress token. */
  readonly token: unknown;
  /** Closing its exchange cancels it, as in revisions without sessions. */
  readonly cancelsByClosing: boolean;
  http: HttpExchange | undefined;
  /** The last event id, to resume its stream from; "" when it cannot be resumed. */
  lastEvent: string;
  /** The `retry` of the stream: milliseconds to wait before resuming. */
  wait: number | undefined;
  attempts: number;
  /** The beginning of an answer that is not a message, if there was one. */
  garbage: string | undefined;
}

/** The record of a request; undefined for a message that needs no answer. */
export function pendingFor(message: HttpMessage): HttpPending | undefined {
  const { id, method, params } = message;
  if (typeof method !== "string" || (typeof id !== "string" && typeof id !== "number")) {
    return undefined;
  }
  const token = (params?._meta as { progressToken?: unknown } | undefined)?.progressToken;
  return {
    id,
    method,
    token,
    cancelsByClosing: claimedRevision(message) !== undefined,
    http: undefined,
    lastEvent: "",
    wait: undefined,
    attempts: 0,
    garbage: undefined,
  };
}

/**
 * The messages in a text of a server; none if it is not JSON. `pending` is the request that it answers. A
 * long text is parsed by the peer only; here only its ends are inspected.
 */
export function seenMessages(text: string, pending: HttpPending | undefined): HttpMessage[] {
  if (text.length <= CHEAP || pending?.method === "initialize") return messagesOf(text);
  if (!/^\s*[[{]/.test(text)) return [];
  const { idText, isResponse } = recoverUnparsed(text);
  const id = JSON.parse(idText) as unknown;
  return isResponse
    ? [{ id: id ?? pending?.id }]
    : [{ method: "", ...(id === null ? {} : { id }) }];
}

/** The messages of a text; none when it is not JSON. */
export function messagesOf(text: string): HttpMessage[] {
  const value = parsedJson(text);
  const all: unknown[] = Array.isArray(value) ? value : [value];
  return all.filter((each): each is HttpMessage => typeof each === "object" && each !== null);
}

/** The error for an exchange that was completed without an answer. */
export function withoutAnswer({ method, garbage }: HttpPending): string {
  if (garbage === undefined) return `ended its answer to '${method}' without having answered`;
  const beginning = JSON.stringify(garbage.trim());
  return `answered '${method}' with something that is not an MCP message: ${beginning}`;
}

/** The error for a status that is no success. The body often has the reason, but an HTML page has not. */
export function refusal(status: number, { garbage = "" }: HttpPending): string {
  const said = garbage.trim();
  return said === "" || said.startsWith("<")
    ? `answered ${status}`
    : `answered ${status}: ${JSON.stringify(said)}`;
}
