import { Stopper } from "../../base/stop.ts";
import type { StreamStart } from "../../protocol/bus/plugin.gen.ts";
import type { BusCall, BusHandlers } from "../../protocol/bus/serve.ts";

/** Sends one piece of the answer; resolves when there is room for more. */
export type SendPiece = (data: Uint8Array, contentType: string) => Promise<void>;

/** How a stream ended. */
export interface StreamOutcome {
  readonly success: boolean;
  readonly errorCode?: string;
  readonly errorMessage?: string;
}

type Run = (start: StreamStart, call: BusCall, piece: SendPiece) => Promise<StreamOutcome>;

/** A larger piece is sent as several: a frame is bounded. */
const MOST_BYTES = 1024 * 1024;

/** Answers that come in pieces. Their caller may cancel on the same stream or on another. */
export function streamHandlers(run: Run): BusHandlers {
  /** What runs, by who began it and what it called it. */
  const running = new Map<string, Stopper>();
  const keyOf = ({ connection }: BusCall, streamId: string): string =>
    `${connection.peer?.fingerprint ?? ""}\n${streamId}`;
  return {
    streamStart: async (start, call) => {
      const { streamId } = start;
      const key = keyOf(call, streamId);
      let totalChunks = 0n;
      const ended = ({ success, errorCode = "", errorMessage = "" }: StreamOutcome) => {
        const value = { streamId, success, errorCode, errorMessage, totalChunks };
        return { case: "streamEnd", value } as const;
      };
      if (running.has(key)) {
        const errorMessage = `a stream '${streamId}' is running`;
        return ended({ success: false, errorCode: "stream_exists", errorMessage });
      }
      const piece: SendPiece = async (data, contentType) => {
        for (let at = 0; at === 0 || at < data.length; at += MOST_BYTES) {
          const part = data.subarray(at, at + MOST_BYTES);
          const value = { streamId, data: part, contentType, sequence: totalChunks++ };
          await call.send({ case: "streamChunk", value });
        }
      };
      const stop = new Stopper();
      const passOn = { stopped: (reason: Error) => stop.stop(reason) };
      const { connection, bytes } = call;
      const send: BusCall["send"] = (answer) => call.send(answer);
      call.stop.add(passOn);
      running.set(key, stop);
      try {
        return ended(await run(start, { connection, stop, bytes, send }, piece));
      } finally {
        running.delete(key);
        call.stop.remove(passOn);
      }
    },
    streamCancel: ({ streamId }, call) => {
      running.get(keyOf(call, streamId))?.stop(new Error("The caller cancelled the stream"));
      return undefined;
    },
  };
}
