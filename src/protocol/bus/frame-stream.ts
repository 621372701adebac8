import { onAbort, reasonOf } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { lengthPrefixedDecoder, MAX_FRAME } from "../../wire/framing/length-prefixed.ts";
import type { BidiStream } from "../../wire/quic/connection.ts";
import { decodeResponse } from "./codec.ts";
import type { PluginResponse } from "./plugin.gen.ts";

/** Handles the frames of one stream. */
export interface FrameTaker {
  /** The request. */
  first(body: Buffer): void;
  /** A later frame, such as a cancellation. */
  further(body: Buffer): void;
  /** Bytes have arrived. Throws if they are too many; reading stops then. */
  received(bytes: number): void;
}

/**
 * Reads a stream to its end. The request is taken as soon as it is whole, since some clients leave
 * their side open until they have the answer. Rejects if the stream does not end after a whole frame.
 */
export async function readFrames(stream: BidiStream, taker: FrameTaker): Promise<void> {
  const cannot = (why: string) => new TrunklineError("limit", `Cannot read a request: ${why}`);
  let frames = 0;
  for await (const body of framesOf(stream, cannot, (bytes) => taker.received(bytes))) {
    if (frames++ > 0) {
      taker.further(body);
      continue;
    }
    stream.patient?.();
    taker.first(body);
  }
  if (frames === 0) throw cannot("the stream ended before it");
}

/** The answers on one stream, as they come. */
export async function* readResponses(
  stream: BidiStream,
): AsyncGenerator<PluginResponse, void, void> {
  const cannot = (why: string) =>
    new TrunklineError("unavailable", `Cannot read an answer: ${why}`);
  for await (const body of framesOf(stream, cannot)) yield decodeResponse(body);
}

/** The frames on one stream, as they come. `received` hears of the bytes of each chunk first. */
async function* framesOf(
  stream: BidiStream,
  cannot: (why: string) => TrunklineError,
  received: (bytes: number) => void = () => {},
): AsyncGenerator<Buffer, void, void> {
  const frames: Buffer[] = [];
  let problem: string | undefined;
  const decoder = lengthPrefixedDecoder(MAX_FRAME, {
    frame: (body) => frames.push(body),
    oversize: (length) => {
      problem = `it has over ${MAX_FRAME} bytes, namely ${length}`;
    },
    truncated: (missing) => {
      problem = `its last ${missing} bytes are missing`;
    },
  });
  try {
    for await (const chunk of stream.chunks()) {
      received(chunk.length);
      decoder.push(chunk);
      yield* frames.splice(0);
      if (problem !== undefined) break;
    }
  } finally {
    decoder.end();
  }
  if (problem !== undefined) throw cannot(problem);
}

export interface AnswerStreamOptions {
  readonly signal?: AbortSignal | undefined;
  /** Tells the other side to stop sending; it ends the stream then. */
  readonly cancel?: (() => void) | undefined;
  /** Milliseconds to wait for each answer. */
  readonly patience?: number | undefined;
  /** Who was asked, and for what, in words. */
  readonly whom?: string;
}

/** `whom`: who was asked, and for what. */
export function noAnswer(milliseconds: number, whom: string): TrunklineError {
  return new TrunklineError("timeout", `No answer from ${whom} within ${milliseconds} ms`);
}

const CANCELLED = 1;
/** The kinds of answers after which more may come. */
const GOES_ON: ReadonlySet<string> = new Set(["streamChunk", "eventDelivery"]);
/** Milliseconds after which a cancelled stream that does not end is reset. */
const ENDING = 2_000;

/**
 * The answers on one stream, until it ends, the reader has enough, or the request is cancelled, which
 * is thrown at once. If the other side can be told to stop, what it still sends is read and dropped:
 * the bytes of a stream that is reset are lost from the flow control window of the connection.
 */
export async function* answersOn(
  stream: BidiStream,
  { signal, cancel, patience, whom = "the other side" }: AnswerStreamOptions,
): AsyncGenerator<PluginResponse, void, void> {
  const answers = readResponses(stream);
  let isOver = false;
  let isLast = false;
  let giveUp = (_reason: Error): void => {};
  const stopListening = onAbort(signal, (reason) => giveUp(reason));
  const late =
    patience === undefined
      ? undefined
      : setTimeout(() => giveUp(noAnswer(patience, whom)), patience);
  try {
    for (;;) {
      // Not `Promise.race` with one long-lived promise: that would keep a reaction for each answer.
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<PluginResponse>>();
      giveUp = reject;
      late?.refresh();
      if (signal?.aborted === true) reject(reasonOf(signal));
      answers.next().then(resolve, (error: unknown) => {
        isOver = true;
        reject(error);
      });
      const next = await promise;
      isOver = next.done === true;
      if (next.done === true) return;
      isLast = !GOES_ON.has(next.value.response.case ?? "");
      yield next.value;
    }
  } finally {
    clearTimeout(late);
    stopListening();
    if (!isOver && !isLast) cancel?.();
    if (!isOver && (isLast || cancel !== undefined))
      background(runOut(stream, answers), "Reading the rest of an answer");
    else stream.reset(CANCELLED);
  }
}

async function runOut(
  stream: BidiStream,
  answers: AsyncGenerator<PluginResponse, void, void>,
): Promise<void> {
  using _ = setTimeout(() => stream.reset(CANCELLED), ENDING).unref();
  try {
    for await (const _answer of answers);
  } catch {
    // The reader has left: how the stream ends does not matter.
  }
  stream.reset(CANCELLED);
}
