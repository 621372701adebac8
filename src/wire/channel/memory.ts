import { type Duplex, duplexPair } from "node:stream";

import { type Channel, type ChannelLimits, resolveChannelLimits } from "../channel.ts";
import { streamChannel } from "./stream.ts";

export type MemoryChannel = ReturnType<typeof memoryPair>[0];

/** Two ends of one conversation inside this process, over streams as any other. */
export function memoryPair(limits: Partial<ChannelLimits> = {}) {
  const { highWater } = resolveChannelLimits(limits);
  const [here, there] = duplexPair({ highWaterMark: highWater });
  // A socket tells its other side, too, when it was destroyed.
  here.on("close", () => there.destroy());
  there.on("close", () => here.destroy());
  return [channelOver(here, limits), channelOver(there, limits)] as const;
}

function channelOver(end: Duplex, limits: Partial<ChannelLimits>) {
  const channel: Channel<string> = streamChannel(end, end, { limits });
  /** Ends what this side sends; it still reads, as a program does that has closed its output. */
  const finish = async (): Promise<void> => {
    // What was sent in this turn of the event loop goes out at its end.
    await new Promise(setImmediate);
    end.end();
  };
  return Object.assign(channel, { finish });
}
