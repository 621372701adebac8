import { join } from "node:path";

import { onAbort } from "../../base/abort.ts";
import { background, currentSession } from "../../base/background.ts";
import type { OpenServers } from "../../agent/session-tools.ts";
import type { McpServer } from "../agent.ts";
import { Offer } from "../../tool/offer/offer.ts";
import type { ToolboxOptions } from "../../tool/toolbox.ts";
import { type Link, openLink, type OpenLink } from "../../upstream/link.ts";
import type { UpstreamSettings } from "../../upstream/settings.ts";
import { type UpstreamTable, Upstreams } from "../../upstream/upstreams.ts";
import type { ChannelLimits } from "../../wire/channel.ts";
import { ClientServerChannel } from "./client-server-channel.ts";

export interface SessionServersOptions {
  /** The folder of all state. */
  readonly data: string;
  readonly toolbox?: ToolboxOptions;
  readonly channelLimits?: Partial<ChannelLimits>;
}

/** The MCP servers that clients pass with a session, as upstreams of that session only. */
export function sessionServers(options: SessionServersOptions): OpenServers {
  const { data, toolbox, channelLimits } = options;
  return async (servers, { cwd, log, revoked, clientServers }) => {
    const { table, own } = tablesOf(servers, cwd);
    const offer = new Offer({ ...toolbox, isPrivate: true });
    const upstreams = new Upstreams({
      offer,
      folder: join(data, "session-servers"),
      log,
      open: openUntil(revoked, currentSession(), (name) => {
        const id = own.get(name);
        if (id === undefined || clientServers === undefined) return undefined;
        const channel = new ClientServerChannel(clientServers, id);
        return { channel, end: () => channel[Symbol.asyncDispose]() };
      }),
      ...(channelLimits === undefined ? {} : { channelLimits }),
    });
    offer.waitFor(upstreams);
    await upstreams.configure(table);
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

/**
 * Kills the servers of a session at once when the token of its owner is revoked. `ofClient` reaches one
 * that the client has itself.
 */
function openUntil(
  revoked: AbortSignal,
  serves: string | undefined,
  ofClient: (name: string) => Link | undefined,
): OpenLink {
  return async (settings, events, limits, name) => {
    const own = ofClient(name);
    if (own !== undefined) return own;
    const link = await openLink(settings, events, limits, { serves });
    const stopListening = onAbort(revoked, () => link.kill?.());
    background(link.ended?.then(stopListening), "Removing a server of a session");
    return link;
  };
}

interface ServerTables {
  readonly table: UpstreamTable;
  /** The ids of the servers that the client has itself. */
  readonly own: ReadonlyMap<string, string>;
}

/** Editors may give two servers the same name, so the second gets a number. */
function tablesOf(servers: readonly McpServer[], cwd: string): ServerTables {
  const table = new Map<string, UpstreamSettings>();
  const own = new Map<string, string>();
  for (const server of servers) {
    let { name } = server;
    for (let count = 2; table.has(name); count++) name = `${server.name}-${count}`;
    table.set(name, settingsOf(server, cwd));
    if (server.type === "acp") own.set(name, String(server.serverId));
  }
  return { table: Object.fromEntries(table), own };
}

function settingsOf(server: McpServer, cwd: string): UpstreamSettings {
  const { type, url, headers, command, args, env, serverId } = server;
  // Nothing is looked up under this name.
  if (type === "acp") return { url: `acp:${String(serverId)}` };
  if (typeof url === "string") {
    return { url, headers: pairs(headers), ...(typeof type === "string" ? { type } : {}) };
  }
  return { command: command as string, args: (args ?? []) as string[], env: pairs(env), cwd };
}

function pairs(list: unknown): Record<string, string> {
  const entries = (list ?? []) as readonly { readonly name: string; readonly value: string }[];
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}
