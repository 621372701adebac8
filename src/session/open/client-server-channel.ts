import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { STANDARD } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { type Channel, ROOM, type Room, type Sink } from "../../wire/channel.ts";
import type { ClientServers, Meta } from "../agent.ts";

/**
 * A channel to an MCP server that the session's client has. ACP carries requests with their answers, and
 * notifications of the server; a request is cancelled as any request of ACP. What ACP does not carry (other
 * notifications to the server) is dropped: MCP 2026-07-28 has none.
 */
export class ClientServerChannel implements Channel<string> {
  readonly #servers: ClientServers;
  readonly #serverId: string;
  readonly #asked = new Map<unknown, AbortController>();
  #sink: Sink<string> | undefined;

  constructor(servers: ClientServers, serverId: string) {
    this.#servers = servers;
    this.#serverId = serverId;
  }

  receive(sink: Sink<string>): void {
    this.#sink = sink;
  }

  send(text: string): Room {
    const { id, method, params } = JSON.parse(text) as Record<string, unknown>;
    if (typeof method !== "string") return ROOM;
    if (id !== undefined) {
      background(this.#ask(id, method, params as Meta | undefined), "Asking a server of a client");
    } else if (method === "notifications/cancelled") {
      const { requestId } = (params ?? {}) as { readonly requestId?: unknown };
      this.#asked.get(requestId)?.abort(new TrunklineError("cancelled", "The call was cancelled"));
    }
    return ROOM;
  }

  abort(reason: Error): void {
    for (const asked of this.#asked.values()) asked.abort(reason);
    this.#sink?.end(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const reason = new TrunklineError("closed", "The connection to the server is closed");
    for (const asked of this.#asked.values()) asked.abort(reason);
    this.#sink = undefined;
  }

  async #ask(id: unknown, method: string, params: Meta | undefined): Promise<void> {
    const controller = new AbortController();
    this.#asked.set(id, controller);
    const message = { serverId: this.#serverId, requestId: crypto.randomUUID(), method, params };
    try {
      const outcome = await this.#servers.ask(message, controller.signal, (said) =>
        this.#hear({ method: said.method, ...(said.params && { params: said.params }) }),
      );
      const { result, error } = outcome as { readonly result?: unknown; readonly error?: unknown };
      this.#hear({ id, ...(error === undefined ? { result: result ?? null } : { error }) });
    } catch (error) {
      const { code } = error instanceof RpcError ? error : STANDARD.internal;
      if (!controller.signal.aborted) {
        this.#hear({ id, error: { code, message: (error as Error).message } });
      }
    } finally {
      this.#asked.delete(id);
    }
  }

  #hear(message: object): void {
    const room = this.#sink?.message(JSON.stringify({ jsonrpc: "2.0", ...message }));
    background(room ?? undefined, "Hearing a server of a client");
  }
}
