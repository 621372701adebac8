import { join } from "node:path";

import { onAbort } from "../../base/abort.ts";
import { background, currentSession } from "../../base/background.ts";
import { defined } from "../../base/defined.ts";
import type { ServerOpener } from "../../agent/session-tools.ts";
import type { ClientServers, McpServer, Meta } from "../agent.ts";
import { Offer } from "../../tool/offer/offer.ts";
import type { ToolboxOptions } from "../../tool/toolbox.ts";
import { type Link, openLink, type OpenLink } from "../../upstream/link.ts";
import type { UpstreamSettings } from "../../upstream/settings.ts";
import { Upstreams } from "../../upstream/upstreams.ts";
import {
  type Channel,
  type ChannelLimits,
  ROOM,
  type Room,
  type Sink,
} from "../../wire/channel.ts";
import { TrunklineError } from "../../base/errors.ts";
import { STANDARD } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";

export interface SessionServersOptions {
  /** The folder of all state. */
  readonly data: string;
  readonly toolbox?: ToolboxOptions;
  readonly channelLimits?: Partial<ChannelLimits>;
}

/** The MCP servers that clients pass with a session, as upstreams of that session only. */
export function sessionServers(options: SessionServersOptions): ServerOpener {
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
        const channel = clientServerChannel(clientServers, id);
        return { channel, end: async () => channel[Symbol.asyncDispose]() };
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
          ...defined({ lastError }),
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

/** Editors may give two servers the same name, so the second gets a number. */
function tablesOf(servers: readonly McpServer[], cwd: string) {
  const table = new Map<string, UpstreamSettings>();
  /** The ids of the servers that the client has itself. */
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
  // Only a name; it is never resolved.
  if (type === "acp") return { url: `acp:${String(serverId)}` };
  if (typeof url === "string") {
    return { url, headers: pairs(headers), ...(type === "sse" ? { type } : {}) };
  }
  return { command: command as string, args: (args ?? []) as string[], env: pairs(env), cwd };
}

function pairs(list: unknown): Record<string, string> {
  const entries = (list ?? []) as readonly { readonly name: string; readonly value: string }[];
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}

/**
 * A channel to an MCP server that the session's client has. ACP carries requests with their answers, and
 * notifications of the server; a request is cancelled as any request of ACP. What ACP does not carry (other
 * notifications to the server) is dropped: MCP 2026-07-28 has none.
 */
function clientServerChannel(servers: ClientServers, serverId: string): Channel<string> {
  const asked = new Map<unknown, AbortController>();
  let sink: Sink<string> | undefined;
  const hear = (message: object): void => {
    const room = sink?.message(JSON.stringify({ jsonrpc: "2.0", ...message }));
    background(room ?? undefined, "Hearing a server of a client");
  };
  const ask = async (id: unknown, method: string, params: Meta | undefined): Promise<void> => {
    const controller = new AbortController();
    asked.set(id, controller);
    const message = { serverId, requestId: crypto.randomUUID(), method, params };
    try {
      const outcome = await servers.ask(message, controller.signal, (said) =>
        hear({ method: said.method, ...(said.params && { params: said.params }) }),
      );
      const { result, error } = outcome as { readonly result?: unknown; readonly error?: unknown };
      hear({ id, ...(error === undefined ? { result: result ?? null } : { error }) });
    } catch (error) {
      const { code } = error instanceof RpcError ? error : STANDARD.internal;
      if (!controller.signal.aborted) {
        hear({ id, error: { code, message: (error as Error).message } });
      }
    } finally {
      asked.delete(id);
    }
  };
  return {
    receive(to) {
      sink = to;
    },
    send(text): Room {
      const { id, method, params } = JSON.parse(text) as Record<string, unknown>;
      if (typeof method !== "string") return ROOM;
      if (id !== undefined) {
        background(ask(id, method, params as Meta | undefined), "Asking a server of a client");
      } else if (method === "notifications/cancelled") {
        const { requestId } = (params ?? {}) as { readonly requestId?: unknown };
        asked.get(requestId)?.abort(new TrunklineError("cancelled", "The call was cancelled"));
      }
      return ROOM;
    },
    abort(reason) {
      for (const each of asked.values()) each.abort(reason);
      sink?.end(reason);
    },
    async [Symbol.asyncDispose]() {
      const reason = new TrunklineError("closed", "The connection to the server is closed");
      for (const each of asked.values()) each.abort(reason);
      sink = undefined;
    },
  };
}
