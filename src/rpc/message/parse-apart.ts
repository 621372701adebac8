import { TaskQueue } from "../../base/limit/task-queue.ts";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

import { background } from "../../base/background.ts";
import type { Room, Sink } from "../../wire/channel.ts";
import { STANDARD } from "../codes.ts";
import { RpcError } from "../rpc-error.ts";
import { CHEAP, type ComplexityLimits } from "./complexity.ts";
import { refuse, TOO_MUCH, tryParse } from "./message.ts";
import { Assembly, type Piece } from "./pieces.ts";

/** The code of the thread, which the bundler inserts. */
declare const __TRUNKLINE_PARSER__: string | undefined;

export interface ParseJob {
  readonly text: string;
  readonly maxDepth: number;
}

/** A message of the worker thread. */
export type ParsedPart =
  | { readonly piece: Piece }
  | { readonly isWhole: true }
  | { readonly refusal: Pick<RpcError, "code" | "message" | "data"> };

/** Megabytes for the values of one message. */
const MOST_MEMORY = 1_024;

/** One message after the other, of all channels: each may take much memory. */
const queue = new TaskQueue();

/** The value of a text, or the error that answers it, parsed in a worker thread. */
export function parseApart(job: ParseJob): Promise<unknown> {
  return queue.run(() => runThread(job));
}

/** The value of a text, parsed in another thread if that takes much work. Throws why it cannot be. */
export async function parseAnywhere(text: string, limits: ComplexityLimits): Promise<unknown> {
  const here = tryParse(text, limits);
  const value = here === TOO_MUCH ? await parseApart({ text, maxDepth: limits.maxDepth }) : here;
  if (value instanceof RpcError) throw value;
  return value;
}

type Event = () => void | Room;

/**
 * Receives the messages of a peer that a person has configured. A message whose parsing takes more work
 * than the limit is not refused but parsed in another thread. The messages after it wait for it.
 */
export function apartSink(sink: Sink<string>, limits: ComplexityLimits): Sink<string> {
  /** Events that came after a message that is being parsed. */
  let waiting: Event[] | undefined;
  let caughtUp: Room | undefined;
  const pass = (event: Event, what: string): void => background(inOrder(event), what);
  const inOrder = (event: Event): void | Room => {
    if (waiting === undefined) return event();
    waiting.push(event);
    return caughtUp;
  };
  const read = (text: string): void | Room => {
    if (text.length <= CHEAP) return sink.message(text);
    const parsed = tryParse(text, limits);
    if (parsed !== TOO_MUCH) return sink.message(text, parsed);
    const { maxDepth } = limits;
    const parsing = parseApart({ text, maxDepth }).then((value) => sink.message(text, value));
    if (waiting !== undefined) return parsing;
    waiting = [() => parsing];
    caughtUp = catchUp();
    return caughtUp;
  };
  const catchUp = async (): Promise<void> => {
    for (let next = waiting?.shift(); next !== undefined; next = waiting?.shift()) {
      await next();
    }
    waiting = undefined;
    caughtUp = undefined;
  };
  return {
    message: (text) => (waiting === undefined ? read(text) : inOrder(() => read(text))),
    fault: (fault) => pass(() => sink.fault(fault), "Passing on a fault"),
    lost: (id, error) => pass(() => sink.lost?.(id, error), "Passing on a lost request"),
    end: (error) => pass(() => sink.end(error), "Passing on the end"),
  };
}

async function runThread(workerData: ParseJob): Promise<unknown> {
  const isBundled = typeof __TRUNKLINE_PARSER__ === "string";
  const code = isBundled ? __TRUNKLINE_PARSER__ : join(import.meta.dirname, "parse-main.ts");
  await using worker = new Worker(code, {
    eval: isBundled,
    workerData,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEMORY },
  });
  const assembly = new Assembly();
  const { promise, resolve } = Promise.withResolvers<unknown>();
  worker.on("message", (part: ParsedPart) => {
    if ("refusal" in part) {
      const { code: number, message, data } = part.refusal;
      resolve(new RpcError(number, message, data));
    } else if ("isWhole" in part) resolve(assembly.value);
    else {
      assembly.take(part.piece);
      worker.postMessage("next", []);
    }
  });
  worker.on("error", (error: NodeJS.ErrnoException) => {
    const isTooLarge = error.code === "ERR_WORKER_OUT_OF_MEMORY";
    const tooLarge = `too large: its values take more than ${MOST_MEMORY} MB`;
    resolve(isTooLarge ? refuse(tooLarge) : RpcError.of(STANDARD.internal, error.message));
  });
  // After an answer or an error this comes too late to count.
  worker.on("exit", () => resolve(RpcError.of(STANDARD.internal, "the parser has ended")));
  return await promise;
}
