import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { WebSocket } from "ws";

import type { Json } from "../support/acp-app.ts";
import { readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";

/** Whoever speaks ACP to a gateway. */
class Client implements Disposable {
  readonly #socket: WebSocket;
  readonly messages: Json[] = [];
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data: Buffer) => this.messages.push(JSON.parse(data.toString("utf8"))));
  }

  static async connect({ acp, headers }: ReturnType<typeof readyOf>): Promise<Client> {
    const socket = new WebSocket(acp, { headers });
    await once(socket, "open");
    const client = new Client(socket);
    await client.ask("initialize", { protocolVersion: 1 });
    return client;
  }

  async ask(method: string, params: object): Promise<Json> {
    const id = ++this.#lastId;
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    for (;;) {
      const answer = this.messages.find((each) => each.id === id && each.method === undefined);
      if (answer?.error !== undefined) throw new Error(answer.error.message);
      if (answer !== undefined) return answer.result;
      await once(this.#socket, "message");
    }
  }

  get text(): string {
    return this.messages.map(({ params }) => params?.update?.content?.text ?? "").join("");
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}

describe("trunkline serve", { timeout: 600_000 }, () => {
  it("lets the built-in agent work on /acp, for several clients of one session", async () => {
    const env = { TRUNKLINE_MODELS_LOCAL: "false" };
    await using gateway = new Program(["serve", "--port", "0", "--json"], { env });
    const [ready] = await gateway.answers(1);
    try {
      using editor = await Client.connect(readyOf(ready));
      const cwd = gateway.home;
      const { sessionId, models } = await editor.ask("session/new", { cwd, mcpServers: [] });
      assert.equal(models.currentModelId, "offline");
      using other = await Client.connect(readyOf(ready));
      await other.ask("session/load", { sessionId, cwd, mcpServers: [] });
      const prompt = [{ type: "text", text: "/help" }];
      const { stopReason } = await editor.ask("session/prompt", { sessionId, prompt });
      assert.equal(stopReason, "end_turn");
      assert.match(editor.text, /`\/search/);
      await other.ask("session/list", {});
      assert.match(other.text, /`\/search/, "the other sees it too");
    } finally {
      gateway.child.kill("SIGTERM");
      await gateway.exit;
    }
  });
});
