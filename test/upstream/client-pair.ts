import { type ClientOptions, connectClient } from "./connect-client.ts";
import type { McpClient } from "../../src/protocol/mcp/connect/connect.ts";
import { type Script, ScriptedServer } from "./scripted-server.ts";

/** A client and the server that it talks to. */
export class ClientPair implements AsyncDisposable {
  readonly server: ScriptedServer;
  readonly client: McpClient;

  private constructor(server: ScriptedServer, client: McpClient) {
    this.server = server;
    this.client = client;
  }

  static async connect(script: Script, options: ClientOptions = {}): Promise<ClientPair> {
    const server = new ScriptedServer(script);
    return new ClientPair(server, await connectClient(server.channel, options));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.server.left;
  }
}
