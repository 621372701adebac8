import type { Channel, ChannelLimits } from "../channel.ts";
import type { StreamFraming } from "../framing/ndjson.ts";
import { streamChannel } from "./stream.ts";

/**
 * A channel over this process's standard streams.
 *
 * From here on stdout belongs to the protocol: whatever else writes to it, a `console.log` in a
 * dependency included, is sent to stderr instead.
 */
export function stdioChannel(
  limits: Partial<ChannelLimits> = {},
  framing?: StreamFraming,
): Channel<string> {
  const { stdin, stdout } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = writeAstray;
  return streamChannel(stdin, stdout, {
    limits,
    ...(framing === undefined ? {} : { framing }),
    write: (text) => write(text),
  });
}

let isReady = false;

/** Opens stderr with the first stray text only: opening it at every start would cost 1 ms. */
const writeAstray: typeof process.stdout.write = (...args: unknown[]) => {
  const { stderr } = process;
  // Stderr may be closed.
  if (!isReady) stderr.on("error", () => {});
  isReady = true;
  return stderr.write(...(args as Parameters<typeof stderr.write>));
};
