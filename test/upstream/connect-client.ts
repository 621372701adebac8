import { McpClient, type McpClientOptions } from "../../src/protocol/mcp/connect/connect.ts";
import { QUESTION_LIMITS } from "../../src/protocol/mcp/connect/questions.ts";
import type { McpClientEvents } from "../../src/protocol/mcp/connect/routes.ts";
import type { Channel } from "../../src/wire/channel.ts";

const NO_EVENTS: McpClientEvents = {
  toolsChanged() {},
  promptsChanged() {},
  resourcesChanged() {},
  resourceUpdated() {},
  logged() {},
  asked: () => () => {},
  ambiguous() {},
  owner: () => undefined,
};

export type ClientOptions = Partial<
  Omit<McpClientOptions, "events"> & { readonly events: Partial<McpClientEvents> }
>;

/** A client of a server, for whom nothing has to be said that a test does not care about. */
export function connectClient(
  channel: Channel<string>,
  { events, ...options }: ClientOptions = {},
): Promise<McpClient> {
  return McpClient.connect(channel, {
    era: "auto",
    name: undefined,
    limits: {},
    report: () => {},
    timeout: 30_000,
    signal: new AbortController().signal,
    probe: 2_000,
    questionLimits: QUESTION_LIMITS,
    ...options,
    events: { ...NO_EVENTS, ...events },
  });
}
