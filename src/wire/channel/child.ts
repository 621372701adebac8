import type { Readable, Writable } from "node:stream";

import type { Channel, ChannelLimits } from "../channel.ts";
import { streamChannel } from "./stream.ts";

export interface ChildChannelOptions {
  readonly limits?: Partial<ChannelLimits>;
  /** Called with each line of stdout that is not a message, such as a greeting. */
  readonly stray?: (line: string) => void;
}

/**
 * A channel over a child's standard streams, one JSON text a line. MCP 2025-11-25, Transports § stdio: a
 * server writes nothing else to its stdout. Many programs print a greeting there all the same; such lines go
 * to `stray`, because an error response would confuse the program.
 */
export function childChannel(
  child: { readonly stdin: Writable; readonly stdout: Readable },
  options: ChildChannelOptions = {},
): Channel<string> {
  const { stray, ...rest } = options;
  const isMessage = (line: string): boolean => {
    const isOne = startsMessage(line);
    if (!isOne) stray?.(line);
    return isOne;
  };
  return streamChannel(child.stdout, child.stdin, { ...rest, isMessage });
}

function startsMessage(text: string): boolean {
  const first = text.trimStart().charCodeAt(0);
  return first === 0x7b || first === 0x5b;
}
