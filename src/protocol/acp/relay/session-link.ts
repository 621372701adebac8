import { parsedJson } from "../../../base/check.ts";
import type { Span } from "../../../base/trace.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { heartbeatChannel } from "../../../rpc/heartbeat-channel.ts";
import { readEnvelope } from "../../../rpc/message/envelope.ts";
import { holdId, isId } from "../../../rpc/message/message.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { Channel, Room, Topic } from "../../../wire/channel.ts";
import { acpDialect } from "../dialect.ts";
import type { OldSessionParams } from "../schema.gen.ts";
import { isSilent } from "../../../session/session-error.ts";
import { readSubagentId } from "../../../session/subagent.ts";
import { isObject, type JsonObject, METHODS, objectOf, ours } from "../methods.ts";

/** A request of the client that the holder has not answered yet. */
export interface ForwardedRequest {
  readonly method: string;
  readonly sessionId: string;
  readonly text: string;
  /** Number of the last event that the client had seen when it asked. */
  readonly after: number;
  /** Set where the request is traced. */
  readonly span?: Span | undefined;
}

/** A session that another process has open, as this client uses it. */
export interface JoinedSession {
  params: SessionParams;
  /** Number of the last event that the client was shown. */
  last: number;
  /** Undefined while the session is being taken over. */
  link: SessionLink | undefined;
  /** Whether the holder has accepted the client. */
  isIn: boolean;
  /** Messages of the client that came while there was no link. */
  readonly waiting: string[];
  /** The lost link, whose requests are sent again through the next one. */
  lost?: SessionLink | undefined;
  /** The holder that stopped answering. It still has its lock, so it has to be deposed. */
  silent?: string | undefined;
  /** Resolves when the session is open again, or cannot be opened. */
  recovery?: Room | undefined;
  /** Updates for the client that wait until its request has been answered. */
  shows: string[] | undefined;
}

export function newJoined(params: SessionParams, last: number, link?: SessionLink): JoinedSession {
  return { params, last, link, isIn: false, waiting: [], shows: undefined };
}

/** The params of a request that begins or opens a session. */
export type SessionParams = Omit<OldSessionParams, "sessionId"> & { readonly sessionId?: string };

/** Receives what the holder of the sessions sends. */
export interface LinkListener {
  /** An update of a session, or a question to the client, as text. */
  told(text: string, sessionId: string): void | Room;
  /** The answer to a request of the client. `idText` is the JSON text of its id. */
  answered(idText: string, asked: ForwardedRequest, text: string): void | Room;
  /** The holder has ended, or does not answer. Its unanswered requests are lost. */
  lost(): void;
  /** See `HeartbeatOptions`. */
  readonly isStopped?: (() => Promise<boolean>) | undefined;
  /** Milliseconds between two looks whether the holder still answers. */
  readonly beat?: number | undefined;
}

interface OwnRequest extends PromiseWithResolvers<unknown> {
  readonly heard: (result: unknown) => void;
}

const CANCEL = acpDialect.cancel.method;

let opened = 0;

/**
 * A connection to the process that holds a session, on behalf of one client. Messages are forwarded as
 * text. Only the ids of the holder's requests are replaced, because several processes send requests to
 * the client, and each counts its own ids.
 */
export type SessionLink = ReturnType<typeof newSessionLink>;

export function newSessionLink(channel: Channel<string>, listener: LinkListener) {
  const wire = heartbeatChannel(channel, {
    // A holder that does not know the method answers too, with an error.
    method: METHODS.ping.name,
    interval: listener.beat,
    isStopped: listener.isStopped,
    isWaiting: () => requests.size + forwarded.size > 0,
    silent: new HolderGoneError(true),
  });
  const number = ++opened;
  /** Our own requests. */
  const requests = new Map<string, OwnRequest>();
  const forwarded = new Map<string, ForwardedRequest>();
  /** Requests of the holder: the id that the client sees, and the holder's own id as JSON text. */
  const questions = new Map<string, string>();
  let failure: TrunklineError = new HolderGoneError(false);
  let isOver = false;
  const leave = (): void => {
    isOver = true;
    for (const answer of requests.values()) answer.reject(failure);
    requests.clear();
  };
  const answered = (idText: string, text: string): void | Room => {
    const own = requests.get(idText);
    if (own !== undefined) {
      requests.delete(idText);
      settle(own, JSON.parse(text) as JsonObject);
      return undefined;
    }
    const asked = forwarded.get(idText);
    if (asked === undefined) return undefined;
    forwarded.delete(idText);
    return listener.answered(idText, asked, text);
  };
  /** A request, the cancellation of one, or another notification. */
  const told = (text: string): void | Room => {
    const { id, method, params } = JSON.parse(text) as Record<string, unknown>;
    const { sessionId, requestId } = isObject(params) ? params : {};
    const { session } = readSubagentId(typeof sessionId === "string" ? sessionId : "");
    if (id !== undefined) {
      const outer = outerId(id);
      questions.set(outer, JSON.stringify(id));
      return listener.told(withId(text, JSON.stringify(outer)), session);
    }
    if (method !== CANCEL) return listener.told(text, session);
    const outer = outerId(requestId);
    if (!questions.delete(outer)) return undefined;
    return listener.told(withdrawal(outer), session);
  };
  const outerId = (id: unknown): string => `holder-${number}-${String(id)}`;
  const link = {
    /** Whether it was closed because the holder did not answer. */
    get isSilent(): boolean {
      return isSilent(failure);
    },
    /** Unanswered requests of the client about a session, oldest first. */
    askedAbout: (sessionId: string): [idText: string, ForwardedRequest][] =>
      [...forwarded].filter(([, asked]) => asked.sessionId === sessionId),
    /** Ids of the holder's requests that the client has not answered. */
    get openQuestions(): readonly string[] {
      return [...questions.keys()];
    },
    /**
     * Sends a request of our own to the holder. Rejects with "unavailable" if the holder ends first. `heard`
     * is called with the result before any message that follows it.
     */
    request(
      method: string,
      params: unknown,
      heard: (result: unknown) => void = () => {},
    ): Promise<unknown> {
      if (isOver) return Promise.reject(failure);
      // A random id, so that no request of the client has the same.
      const id = crypto.randomUUID();
      const answer = Promise.withResolvers<unknown>();
      requests.set(JSON.stringify(id), { ...answer, heard });
      wire.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      return answer.promise;
    },
    /** Forwards a message of the client. A request is stored until it is answered. */
    pass(
      text: string,
      request?: { readonly idText: string; readonly asked: ForwardedRequest },
    ): Room {
      if (request !== undefined) forwarded.set(request.idText, request.asked);
      return wire.send(text);
    },
    isAsked: (idText: string): boolean => forwarded.has(idText),
    /** Forwards the client's answer to a request. Undefined if the request did not come from this link. */
    answer(id: string, text: string): Room | undefined {
      const own = questions.get(id);
      if (own === undefined) return undefined;
      questions.delete(id);
      return wire.send(withId(text, own));
    },
    message(text: string): void | Room {
      const { id, method } = readEnvelope(text);
      return method === undefined && id !== undefined
        ? answered(text.slice(id.from, id.to), text)
        : told(text);
    },
    fault(): void {
      // Both ends have the same limits: the holder sends no message that is too long for us.
    },
    end(error?: Error): void {
      if (isOver) return;
      // It does not answer, or has refused us.
      if (error instanceof TrunklineError) failure = error;
      leave();
      listener.lost();
    },
    async close(): Promise<void> {
      leave();
      await wire[Symbol.asyncDispose]();
    },
  };
  wire.receive(link);
  return link;
}

/** Tells a client that a request needs no answer any more. */
export function withdrawal(requestId: string): string {
  return JSON.stringify({ jsonrpc: "2.0", method: CANCEL, params: { requestId } });
}

function withId(text: string, idText: string): string {
  const { id } = readEnvelope(text);
  return id === undefined ? text : text.slice(0, id.from) + idText + text.slice(id.to);
}

function settle(request: OwnRequest, { result, error }: JsonObject): void {
  if (!isObject(error)) {
    request.heard(result);
    request.resolve(result);
    return;
  }
  const { code, message, data } = error;
  request.reject(new RpcError(Number(code), String(message), data));
}

/** The process that has a session open has ended, or does not answer. */
export class HolderGoneError extends TrunklineError {
  readonly isSilent: boolean;

  constructor(isSilent: boolean) {
    const how = isSilent ? "does not answer" : "has ended";
    super("unavailable", `The process that has the session open ${how}.`);
    this.isSilent = isSilent;
  }
}

/** The text of a request whose work belongs to a span. */
export function withTrace(message: Readonly<Record<string, unknown>>, { carrier }: Span): string {
  const params = objectOf(message.params);
  return JSON.stringify({
    ...message,
    params: { ...params, _meta: { ...objectOf(params._meta), ...carrier } },
  });
}

/** The text of a prompt that was sent before, after the event with that number. */
export function sentAfter(text: string, after: number): string {
  const message = parsed(text);
  const params = objectOf(message.params);
  const _meta = objectOf(params._meta);
  const trunkline = { ...ours(_meta), sentAfter: after };
  return JSON.stringify({ ...message, params: { ...params, _meta: { ..._meta, trunkline } } });
}

/** The number that a holder adds to each event, always at the end of the message. */
const SEQ = /,"_meta":\{"trunkline":\{"seq":(\d+)\}\}\}\}$/;
/** Characters; longer than the longest match. */
const SEQ_LENGTH = 64;

/** The number of the event in an update, and the update without it; undefined if it has none. */
export function numberOf(
  text: string,
): { readonly seq: number; readonly bare: string } | undefined {
  const [tail, seq] = SEQ.exec(text.slice(-SEQ_LENGTH)) ?? [];
  if (tail === undefined) return undefined;
  return { seq: Number(seq), bare: `${text.slice(0, -tail.length)}}}` };
}

/** Whether a request of the client waits until the session is open again. */
export function isWaiting({ waiting, lost }: JoinedSession, idText: string): boolean {
  if (lost?.isAsked(idText) === true) return true;
  return waiting.some((text) => {
    const { id } = parsed(text);
    return isId(id) && String(holdId(id, text)) === idText;
  });
}

export function answerTo(request: string, errorCode?: unknown): Topic {
  return {
    request,
    isAnswer: true,
    ...(typeof errorCode === "number" ? { errorCode } : {}),
  };
}

export function parsed(text: string): Readonly<Record<string, unknown>> {
  // The peer answers text that is not JSON.
  return objectOf(parsedJson(text));
}
