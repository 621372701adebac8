import { Heartbeat, type HeartbeatOptions } from "../base/limit/heartbeat.ts";
import { type Channel, ROOM } from "../wire/channel.ts";

export interface HeartbeatChannelOptions extends Pick<
  HeartbeatOptions,
  "isWaiting" | "isStopped" | "interval"
> {
  /** The method of a request that everybody answers. */
  readonly method: string;
  /** The error that ends the channel when the other side is silent. */
  readonly silent?: Error;
}

/** A channel with a heartbeat: it is closed if the other process does not answer while somebody waits. */
export function heartbeatChannel(
  channel: Channel<string>,
  { method, silent = new Error("It does not answer"), ...options }: HeartbeatChannelOptions,
): Channel<string> {
  /** How an answer to one of our requests begins. The id is random, so that nobody else uses it. */
  let pong: string | undefined;
  const heartbeat = new Heartbeat({
    ...options,
    beat: () => {
      pong ??= `{"jsonrpc":"2.0","id":"${crypto.randomUUID()}",`;
      channel.send(`${pong}"method":"${method}"}`);
    },
    silent: () => channel.abort(silent),
  });
  return {
    receive(sink) {
      channel.receive({
        message: (text) => {
          const isPong = pong !== undefined && text.startsWith(pong);
          const room = isPong ? undefined : sink.message(text);
          heartbeat.heard(room === ROOM ? undefined : room);
          return room;
        },
        fault: (fault) => sink.fault(fault),
        end: (error) => {
          heartbeat[Symbol.dispose]();
          sink.end(error);
        },
      });
    },
    send: (text, topic) => channel.send(text, topic),
    abort: (reason) => channel.abort(reason),
    async [Symbol.asyncDispose]() {
      heartbeat[Symbol.dispose]();
      await channel[Symbol.asyncDispose]();
    },
  };
}
