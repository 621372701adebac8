import { RpcError } from "../../rpc/rpc-error.ts";
import type { ClientServers, McpMessage, McpServer } from "../../session/agent.ts";
import type { AcpConnection } from "./connection.ts";

/** Where a server is now. */
interface Home {
  readonly name: string;
  readonly client: AcpConnection;
  /** The id that the client has given it. */
  readonly serverId: string;
}

/** The binding of MCP to ACP: nobody has a server with that id. */
const UNAVAILABLE = -33001;

/**
 * The MCP servers of one session that a client has itself (ACP `mcp/message`). Agents know them by ids of
 * ours, since those of several clients may be the same.
 */
export class ClientMcpServers implements ClientServers {
  /** All servers of the session. */
  readonly list: readonly McpServer[];
  readonly #homes = new Map<string, Home>();

  constructor(servers: readonly McpServer[], client: AcpConnection) {
    this.list = servers.map((server) => {
      const { type, name, serverId: theirs } = server;
      if (type !== "acp") return server;
      const serverId = crypto.randomUUID();
      this.#homes.set(serverId, { name, client, serverId: String(theirs) });
      return { ...server, serverId };
    });
  }

  /** A client has opened the session again: its servers take the places of those that are gone. */
  rebind(servers: readonly McpServer[], client: AcpConnection): void {
    for (const [id, home] of this.#homes) {
      const again = servers.find(({ type, name }) => type === "acp" && name === home.name);
      if (again === undefined || !home.client.isGone) continue;
      this.#homes.set(id, { ...home, client, serverId: String(again.serverId) });
    }
  }

  async ask(
    message: McpMessage,
    signal: AbortSignal,
    heard: (message: McpMessage) => void,
  ): Promise<object> {
    const { serverId: id } = message;
    const { client, serverId, name = id } = this.#homes.get(id) ?? {};
    if (client === undefined || serverId === undefined || client.isGone) {
      throw new RpcError(UNAVAILABLE, `The client with the MCP server '${name}' is gone`);
    }
    return await client.askServer({ ...message, serverId }, signal, (said) =>
      heard({ ...said, serverId: id }),
    );
  }
}
