import { DEFAULT_LIMITS } from "../../base/limit/limits.ts";
import type { AppContext } from "../../config/app-context.ts";
import { META } from "../../protocol/mcp/meta.ts";
import { parseMessage } from "../../rpc/message/message.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { Client } from "../../store/access/running-clients.ts";
import type { Channel, Sink } from "../../wire/channel.ts";
import { stdioChannel } from "../../wire/channel/stdio.ts";

/** Messages among which a client says who it is, and begins. */
const FIRST = 20;
/** Characters of a name that are kept. */
const LONGEST_NAME = 80;

interface FirstMessage {
  readonly method?: unknown;
  readonly params?: {
    readonly clientInfo?: unknown;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

/**
 * The standard streams, for whoever has started this process. Once they have begun, the data folder says that
 * they are there, so that the dashboard of a gateway shows it: an assistant has begun after `initialize`, an
 * editor when it opens a session. To announce them delays no message, and may fail.
 */
export function announcedStdio(app: AppContext, kind: Client["kind"]): Channel<string> {
  const channel = stdioChannel(app.config.limits);
  let left = FIRST;
  let name: string | undefined;
  let announced: Promise<Disposable | undefined> | undefined;
  const look = (text: string): void => {
    left -= 1;
    const { method, params } = parsed(text);
    const hasBegun =
      kind === "editor"
        ? /^session\/(?:new|load|resume|fork)$/.test(String(method))
        : method !== "initialize";
    name = nameIn(params?.clientInfo) ?? nameIn(params?._meta?.[META.clientInfo]) ?? name;
    if (!hasBegun || (kind === "assistant" && name === undefined)) return;
    left = 0;
    announced = announce(app, { kind, name: name ?? "an editor", since: Date.now() });
  };
  const sinkFor = (sink: Sink<string>): Sink<string> => ({
    message: (text, value) => {
      if (left > 0) look(text);
      return sink.message(text, value);
    },
    fault: (fault) => sink.fault(fault),
    end: (error) => sink.end(error),
  });
  return {
    receive: (sink) => channel.receive(sinkFor(sink)),
    send: (message, topic) => channel.send(message, topic),
    abort: (reason) => channel.abort(reason),
    [Symbol.asyncDispose]: async () => {
      // Where a signal ends the process at once, the system releases it.
      (await announced)?.[Symbol.dispose]();
      await channel[Symbol.asyncDispose]();
    },
  };
}

async function announce(
  { config, log }: AppContext,
  client: Client,
): Promise<Disposable | undefined> {
  try {
    // Loaded after the first answer: no start waits for it.
    const { announceClient } = await import("../../store/access/running-clients.ts");
    return await announceClient(config.data, client);
  } catch (error) {
    log.info("client.not-announced", { error });
    return undefined;
  }
}

/** A message beyond the default limits counts as empty, since it would cost too much to parse twice. */
function parsed(text: string): FirstMessage {
  const value = parseMessage(text, DEFAULT_LIMITS);
  return value instanceof RpcError ? {} : ((value as FirstMessage | null) ?? {});
}

function nameIn(info: unknown): string | undefined {
  const { title, name } = (info ?? {}) as { title?: unknown; name?: unknown };
  const said = [title, name].find((each) => typeof each === "string" && each.trim() !== "");
  return typeof said === "string" ? said.slice(0, LONGEST_NAME) : undefined;
}
