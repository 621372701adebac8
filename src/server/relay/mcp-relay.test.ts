import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { Peer } from "../../rpc/peer.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { textResult, type Tool } from "../../tool/tool.ts";
import type { Channel, Room } from "../../wire/channel.ts";
import { memoryPair } from "../../wire/channel/memory.ts";
import { mcpRelay } from "./mcp-relay.ts";
import { CLOSING } from "./reach-gateway.ts";

type Message = {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: { content?: { text: string }[]; tools?: object[] };
};

const inputSchema = { type: "object" };
const tool = (name: string, annotations = {}): Tool => ({
  definition: { name, inputSchema, annotations },
  call: (_, { caller }) => textResult(`${name} for ${caller.name}`),
});

const TOOLS = [tool("write"), tool("read", { readOnlyHint: true })];

/** A client and a gateway, by hand, with a relay between them that can open a server of its own. */
class Rig {
  readonly client = new RecordingSink();
  readonly gateway = new RecordingSink();
  readonly relay: ReturnType<typeof mcpRelay>;
  readonly toClient: Channel<string>;
  readonly toGateway: Channel<string>;
  opened = 0;
  #last = 0;

  constructor(tools: readonly Tool[] = TOOLS, beat?: number) {
    const [client, near] = memoryPair();
    const [gateway, far] = memoryPair();
    this.toClient = client;
    this.toGateway = gateway;
    client.receive(this.client);
    gateway.receive(this.gateway);
    this.relay = mcpRelay({
      client: near,
      gateway: far,
      open: async (channel, firstId) => {
        this.opened++;
        const offer = new Offer();
        for (const each of tools) offer.tools.add(each);
        const connection = new Connection(undefined, "/");
        const options = new McpDoor({ offer }).optionsFor(connection);
        const peer = new Peer(channel, connection, { ...options, firstId });
        return {
          peer,
          offer,
          tool: (name) => offer.tools.get(name),
          [Symbol.asyncDispose]: async () => connection[Symbol.dispose](),
        };
      },
      tookOver: () => {},
      ...(beat === undefined ? {} : { beat }),
    });
  }

  /** The client sends a text. */
  say(text: string): void {
    const sent: Room = this.toClient.send(text);
    sent.catch(() => {});
  }

  ask(method: string, params: object = {}): number {
    const id = ++this.#last;
    this.say(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return id;
  }

  /** The gateway answers. */
  async answer(id: number, result: object): Promise<void> {
    const answer = JSON.stringify({ jsonrpc: "2.0", id, result });
    await this.gateway.until(({ messages }) => messages.length >= id);
    await this.toGateway.send(answer);
    await this.client.until(({ messages }) => messages.includes(answer));
  }

  async begin(): Promise<void> {
    const clientInfo = { name: "test", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const id = this.ask("initialize", params);
    await this.answer(id, { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} });
  }

  get heard(): Message[] {
    return this.client.messages.map((message) => JSON.parse(message) as Message);
  }

  async answerTo(id: number): Promise<Message> {
    const isAnswer = (one: Message): boolean => one.id === id && one.method === undefined;
    await this.client.until(() => this.heard.some(isAnswer));
    return this.heard.find(isAnswer) ?? {};
  }

  async textOf(id: number): Promise<string> {
    return (await this.answerTo(id)).result?.content?.[0]?.text ?? "";
  }

  kill(): void {
    this.toGateway.abort(new Error("killed"));
  }
}

describe("mcpRelay()", { timeout: 600_000 }, () => {
  it("passes messages on as they are, both ways", async () => {
    const rig = new Rig();
    const odd = `{ "id" : 1.0, "method":"tools/call" , "jsonrpc":"2.0","params":{"x":"\\u00e9"}}`;
    rig.say(odd);
    await rig.gateway.until(({ messages }) => messages.length === 1);
    assert.deepEqual(rig.gateway.messages, [odd]);
    await rig.toGateway.send(`{"jsonrpc":"2.0","id":1,"result":{"y":1}}`);
    await rig.client.until(({ messages }) => messages.length === 1);
    await rig.relay.close(0);
    assert.equal(rig.opened, 0);
  });

  it("goes on alone when the gateway does not answer, but not while it answers at all", async () => {
    const rig = new Rig(TOOLS, 10);
    await rig.begin();
    const isPing = (text: string): boolean => text.includes('"method":"ping"');
    const read = rig.ask("tools/call", { name: "read" });
    for (let beat = 1; beat < 40; beat++) {
      await rig.gateway.until(({ messages }) => messages.filter(isPing).length >= beat);
      const { id } = JSON.parse(rig.gateway.messages.findLast(isPing) ?? "") as Message;
      await rig.toGateway.send(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
    }
    assert.equal(rig.opened, 0);
    assert.equal(rig.client.messages.length, 1, "the client is told nothing of it");
    // It is stopped: its socket takes what it is sent.
    assert.equal(await rig.textOf(read), "read for test");
    assert.equal(rig.opened, 1);
    await rig.relay.close(0);
  });

  it("goes on alone when the gateway is gone: repeats what can be, and says what cannot", async () => {
    const rig = new Rig();
    await rig.begin();
    const write = rig.ask("tools/call", { name: "write" });
    const read = rig.ask("tools/call", { name: "read" });
    const ping = rig.ask("ping");
    await rig.gateway.until(({ messages }) => messages.length === 4);
    rig.kill();
    assert.match(await rig.textOf(write), /It is unknown whether 'write' was carried out/);
    assert.equal(await rig.textOf(read), "read for test");
    await rig.answerTo(ping);
    assert.equal(await rig.textOf(rig.ask("tools/call", { name: "write" })), "write for test");
    const ids = rig.heard.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, "each is answered once");
    await rig.relay.close(0);
  });

  it("cancels what the gateway asked, ignores a late answer, and reuses no id", async () => {
    const asks: Tool = {
      definition: { name: "ask", inputSchema },
      call: async (_, context) => {
        const answer = await context.ask({
          method: "elicitation/create",
          params: { message: "?" },
        });
        return textResult(JSON.stringify(answer));
      },
    };
    const rig = new Rig([asks]);
    const capabilities = { elicitation: {} };
    const clientInfo = { name: "test", version: "1" };
    const hello = rig.ask("initialize", {
      protocolVersion: "2025-11-25",
      capabilities,
      clientInfo,
    });
    await rig.answer(hello, { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} });
    await rig.toGateway.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`);
    await rig.client.until(({ messages }) => messages.length === 2);
    rig.kill();
    await rig.client.until(({ messages }) => messages.some((text) => text.includes("cancelled")));
    const call = rig.ask("tools/call", { name: "ask" });
    await rig.client.until(() =>
      rig.heard.some(({ id, method }) => method !== undefined && id === 2),
    );
    rig.say(`{"jsonrpc":"2.0","id":1,"result":{"action":"late"}}`);
    rig.say(`{"jsonrpc":"2.0","id":2,"result":{"action":"right"}}`);
    assert.equal(await rig.textOf(call), `{"action":"right"}`);
    await rig.relay.close(0);
  });

  it("tells the client that a list has changed only if it has", async () => {
    const rig = new Rig();
    await rig.begin();
    const prompts = rig.ask("prompts/list");
    await rig.answer(prompts, { prompts: [] });
    const tools = rig.ask("tools/list");
    await rig.answer(tools, { tools: [] });
    rig.kill();
    await rig.client.until(({ messages }) =>
      messages.some((text) => text.includes("list_changed")),
    );
    await rig.answerTo(rig.ask("ping"));
    const told = rig.heard.flatMap(({ method }) => method ?? []);
    assert.deepEqual(told, ["notifications/tools/list_changed"]);
    await rig.relay.close(0);
  });

  it("goes on with the subscriptions of a client without a session, under their ids", async () => {
    const rig = new Rig();
    const key = (name: string): string => `io.modelcontextprotocol/${name}`;
    const _meta = {
      [key("protocolVersion")]: "2026-07-28",
      [key("clientCapabilities")]: {},
      [key("clientInfo")]: { name: "test", version: "1" },
    };
    const listen = (notifications: object): number =>
      rig.ask("subscriptions/listen", { notifications, _meta });
    const first = listen({ toolsListChanged: true });
    const other = listen({ promptsListChanged: true });
    const tools = rig.ask("tools/list", { _meta });
    // The gateway ends before it has acknowledged the second one.
    const acknowledged = "notifications/subscriptions/acknowledged";
    const tag = (id: number) => ({ [key("subscriptionId")]: id });
    await rig.gateway.until(({ messages }) => messages.length === 3);
    const params = { notifications: { toolsListChanged: true }, _meta: tag(first) };
    await rig.toGateway.send(JSON.stringify({ jsonrpc: "2.0", method: acknowledged, params }));
    await rig.answer(tools, { tools: [] });
    rig.kill();
    const told = (): unknown[] =>
      rig.heard.flatMap(({ method, params }) =>
        method === undefined ? [] : [[method, params?._meta]],
      );
    await rig.client.until(() => told().length >= 3);
    await rig.answerTo(rig.ask("tools/list", { _meta }));
    // Each subscription is acknowledged before anything else is told of it; the two have no order.
    const toldOf = (id: number): unknown[] =>
      told().filter((one) => isDeepStrictEqual((one as unknown[])[1], tag(id)));
    assert.deepEqual(toldOf(first), [
      [acknowledged, tag(first)],
      ["notifications/tools/list_changed", tag(first)],
    ]);
    assert.deepEqual(toldOf(other), [[acknowledged, tag(other)]]);
    assert.equal(told().length, 3);
    await rig.relay.close(0);
  });

  it("lets a gateway that closes answer what is open, and takes new requests itself", async () => {
    const rig = new Rig();
    await rig.begin();
    const write = rig.ask("tools/call", { name: "write" });
    await rig.gateway.until(({ messages }) => messages.length === 2);
    await rig.toGateway.send(CLOSING);
    const later = rig.ask("tools/call", { name: "write" });
    await rig.toGateway.send(
      JSON.stringify({ jsonrpc: "2.0", id: write, result: { content: [{ text: "done" }] } }),
    );
    assert.equal(await rig.textOf(write), "done");
    assert.equal(await rig.textOf(later), "write for test");
    assert.equal(rig.gateway.messages.length, 2);
    assert.equal(rig.client.messages.includes(CLOSING), false);
    await rig.relay.close(0);
  });

  it("waits at the end of input for the answers that the client waits for", async () => {
    const rig = new Rig();
    const ping = rig.ask("ping");
    await rig.gateway.until(({ messages }) => messages.length === 1);
    await using _ended = rig.toClient;
    const closing = rig.relay.close(5_000);
    await rig.answer(ping, {});
    await closing;
    await rig.gateway.until(({ ends }) => ends.length > 0);
  });
});
