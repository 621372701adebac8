import type { Channel } from "../channel.ts";

/** Sees the messages of a channel. It must be fast: each message waits for it. */
export interface Tap {
  message(text: string, direction: "in" | "out"): void;
}

/** Wraps a channel, so that a tap sees each message. */
export function tapped(channel: Channel<string>, tap: Tap): Channel<string> {
  return {
    receive: (sink) =>
      channel.receive({
        message: (text) => {
          tap.message(text, "in");
          return sink.message(text);
        },
        fault: (fault) => sink.fault(fault),
        lost: (id, error) => sink.lost?.(id, error),
        end: (error) => sink.end(error),
      }),
    send: (text, topic) => {
      tap.message(text, "out");
      return channel.send(text, topic);
    },
    abort: (reason) => channel.abort(reason),
    [Symbol.asyncDispose]: () => channel[Symbol.asyncDispose](),
  };
}
