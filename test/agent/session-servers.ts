import { join } from "node:path";

import type { OpenServers } from "../../src/agent/session-servers.ts";
import type { McpServer } from "../../src/session/agent.ts";
import { Offer } from "../../src/tool/offer.ts";
import type { UpstreamSettings } from "../../src/upstream/settings.ts";
import { Upstreams } from "../../src/upstream/upstreams.ts";

/** The MCP servers of sessions as upstreams of their own. */
export function sessionServers(data: string): OpenServers {
  return async (servers, { cwd, log }) => {
    const offer = new Offer();
    const upstreams = new Upstreams({ offer, folder: join(data, "session-servers"), log });
    const table = servers.map((server) => [server.name, settingsOf(server, cwd)] as const);
    await upstreams.configure(Object.fromEntries(table));
    return {
      tools: offer.tools,
      known: () => upstreams.known(),
      status: () =>
        upstreams.status().map(({ name, state, lastError }) => ({
          name,
          isKnown: state === "up" || (state === "idle" && lastError === undefined),
          ...(lastError === undefined ? {} : { lastError }),
        })),
      [Symbol.asyncDispose]: () => upstreams[Symbol.asyncDispose](),
    };
  };
}

function settingsOf(server: McpServer, cwd: string): UpstreamSettings {
  const { type, url, headers, command, args, env } = server;
  if (typeof url === "string") {
    return { url, headers: pairs(headers), ...(typeof type === "string" ? { type } : {}) };
  }
  return { command: command as string, args: (args ?? []) as string[], env: pairs(env), cwd };
}

function pairs(list: unknown): Record<string, string> {
  const entries = (list ?? []) as readonly { readonly name: string; readonly value: string }[];
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}
