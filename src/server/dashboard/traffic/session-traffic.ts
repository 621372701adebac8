import { attempt } from "../../../base/attempt.ts";
import { defined } from "../../../base/defined.ts";
import { HELD, maskAll, maskText } from "../../../base/text/mask.ts";
import { readEnvelope } from "../../../rpc/message/envelope.ts";
import type { Traffic, TrafficRow } from "../session-api.ts";
import type { PassedMessage, TappedConnection, TrafficRing } from "./traffic-ring.ts";

/** The first level of a message. */
interface ParsedMessage {
  readonly passed: PassedMessage;
  readonly kind: TrafficRow["kind"];
  readonly id: string | undefined;
  readonly method: string | undefined;
  pair?: ParsedMessage;
  isOfSession: boolean;
}

/** `sessionId` as we, editors and agents write it: a quoted text in a message has escaped quotes. */
const SESSION_KEY = `"sessionId":"`;
const UPDATE = /"sessionUpdate":"([a-z_]{1,60})"/;

/**
 * The messages that belong to a session: those that name it, in our id or in the agent's own, and the
 * answers to them. Lines on stderr are those of the agent's process, which may serve several sessions.
 */
export function trafficOf(
  ring: TrafficRing,
  ids: readonly string[],
  { from, limit }: { readonly from: number; readonly limit: number },
): Traffic {
  const { all, last } = ring;
  const reads = readAll(all, ids);
  const agents = new Set(
    reads.flatMap(({ isOfSession, passed: { connection } }) =>
      isOfSession && connection.lane === "agent" ? [connection] : [],
    ),
  );
  const rows = reads
    .filter(({ isOfSession, kind, passed }) => {
      if (passed.n < from) return false;
      return isOfSession || (kind === "line" && agents.has(passed.connection));
    })
    .slice(0, limit)
    .map(rowOf);
  return { rows, first: all[0]?.n ?? last + 1, last: rows.at(-1)?.n ?? last };
}

/** The text of one message of a session, with secrets masked; undefined where it is not one. */
export function rawText(ring: TrafficRing, ids: readonly string[], n: number): string | undefined {
  const read = readAll(ring.all, ids).find(({ passed }) => passed.n === n);
  if (read?.isOfSession !== true) return undefined;
  const { text, size } = read.passed;
  if (text.length < size) {
    // A secret may have been cut at the end.
    const most = Math.max(0, text.length - HELD.longest);
    return `${maskText(text).slice(0, most)}… (${size} characters in all)`;
  }
  // It may be none, or too deep.
  return attempt(() => JSON.stringify(maskAll(JSON.parse(text)))) ?? maskText(text);
}

function readAll(all: readonly PassedMessage[], ids: readonly string[]): ParsedMessage[] {
  const named = ids.map((id) => `${SESSION_KEY}${id}"`);
  /** Requests without an answer yet, by connection, direction and id. */
  const asked = new Map<TappedConnection, Map<string, ParsedMessage>>();
  return all.map((passed) => {
    const read = readOne(passed);
    read.isOfSession = named.some((name) => passed.text.includes(name));
    if (read.id === undefined) return read;
    const open = asked.get(passed.connection) ?? new Map<string, ParsedMessage>();
    asked.set(passed.connection, open);
    const isAnswer = read.kind === "response" || read.kind === "error";
    const asker = passed.direction === "in" ? "out" : "in";
    const key = `${isAnswer ? asker : passed.direction} ${read.id}`;
    if (!isAnswer) {
      open.set(key, read);
      return read;
    }
    const request = open.get(key);
    open.delete(key);
    if (request === undefined) return read;
    read.pair = request;
    request.pair = read;
    // The answer to `session/new` names the session, and its request does not.
    read.isOfSession ||= request.isOfSession;
    request.isOfSession ||= read.isOfSession;
    return read;
  });
}

function readOne(passed: PassedMessage): ParsedMessage {
  const { text, isLine } = passed;
  if (isLine) return { passed, kind: "line", id: undefined, method: undefined, isOfSession: false };
  const envelope = readEnvelope(text);
  const part = (span: { from: number; to: number } | undefined): string | undefined =>
    span === undefined ? undefined : text.slice(span.from, span.to);
  const id = part(envelope.id);
  const method = part(envelope.method)?.slice(1, -1);
  const isError = envelope.isResponse && /^\{"jsonrpc":"2\.0","id":[^,]*,"error"/.test(text);
  const kind =
    method !== undefined
      ? id === undefined
        ? "notification"
        : "request"
      : isError
        ? "error"
        : "response";
  return { passed, kind, id, method, isOfSession: false };
}

function rowOf({ passed, kind, id, method, pair }: ParsedMessage): TrafficRow {
  const { n, at, connection, direction, text, size } = passed;
  const isAnswer = kind === "response" || kind === "error";
  const name = method ?? pair?.method;
  const [, update] = (method === "session/update" ? UPDATE.exec(text) : null) ?? [];
  return defined<TrafficRow>({
    ...{ n, at, direction, kind, size, method: name, update, id },
    lane: kind === "line" ? "stderr" : connection.lane,
    peer: connection.peer,
    pair: pair?.passed.n,
    latency: isAnswer && pair !== undefined ? at - pair.passed.at : undefined,
    text: kind === "line" ? maskText(text) : undefined,
  });
}
