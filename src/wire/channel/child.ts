import type { Readable, Writable } from "node:stream";

import type { Channel, ChannelLimits, Sink, Topic } from "../channel.ts";
import { streamChannel } from "./stream.ts";

export interface ChildChannelOptions {
  readonly limits?: Partial<ChannelLimits>;
  /** A line that is no message: what a program prints where only its protocol belongs. */
  readonly stray?: (line: string) => void;
}

/**
 * A channel over a child's standard streams, one JSON text a line. MCP 2025-11-25, Transports § stdio:
 * a server writes nothing else to its stdout. Many programs print a greeting there all the same; such
 * lines go to `stray`, since an error response would only confuse the program.
 */
export function childChannel(
  child: { readonly stdin: Writable; readonly stdout: Readable },
  options: ChildChannelOptions = {},
): Channel<string> {
  const { limits, stray = () => {} } = options;
  const channel = streamChannel(child.stdout, child.stdin, limits === undefined ? {} : { limits });
  return {
    receive(sink: Sink<string>) {
      channel.receive({
        message(text) {
          if (isMessage(text)) return sink.message(text);
          stray(text);
          return undefined;
        },
        fault: (fault) => sink.fault(fault),
        end: (error) => sink.end(error),
      });
    },
    send: (message: string, topic?: Topic) => channel.send(message, topic),
    abort: (reason: Error) => channel.abort(reason),
    [Symbol.asyncDispose]: () => channel[Symbol.asyncDispose](),
  };
}

function isMessage(text: string): boolean {
  if (text.charCodeAt(0) === 0x7b) return true;
  const first = text.trimStart().charCodeAt(0);
  return first === 0x7b || first === 0x5b;
}
