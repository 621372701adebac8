import type { Channel, ChannelLimits } from "../channel.ts";
import { streamChannel } from "./stream.ts";

/**
 * A channel over this process's standard streams.
 *
 * From here on stdout belongs to the protocol: whatever else writes to it, a `console.log` in a
 * dependency included, is sent to stderr instead.
 */
export function stdioChannel(limits: Partial<ChannelLimits> = {}): Channel<string> {
  const { stdin, stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  // Nobody may be reading what went astray.
  stderr.on("error", () => {});
  return streamChannel(stdin, stdout, { limits, write: (text) => void write(text) });
}
