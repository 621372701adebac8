import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { until } from "../../../test/support/until.ts";
import { SessionError } from "../../session/session-error.ts";
import { type MemoryChannel, memoryPair } from "../../wire/channel/memory.ts";
import { type AgentListener, CAPABILITIES, connectAgent } from "./connect.ts";
import { METHODS } from "./methods.ts";

type Message = Readonly<Record<string, unknown>> & {
  readonly id?: unknown;
  readonly method?: unknown;
};

/** An agent on the raw wire: it answers as it is told, and sees every message. */
class RawAgent {
  readonly channel: MemoryChannel;
  readonly seen: Message[] = [];
  answer: (message: Message) => object | undefined;

  constructor(channel: MemoryChannel, hello: object = { protocolVersion: 1 }) {
    this.channel = channel;
    this.answer = ({ method }) => (method === "initialize" ? { result: hello } : undefined);
    channel.receive({
      message: (text) => {
        const message = JSON.parse(text) as Message;
        this.seen.push(message);
        const answer = message.method === undefined ? undefined : this.answer(message);
        if (answer !== undefined) this.send({ id: message.id, ...answer });
        return undefined;
      },
      fault: () => {},
      end: () => {},
    });
  }

  send(message: object): void {
    void this.channel.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  /** Asks, and gives what it is answered. */
  async ask(id: number, method: string, params: object): Promise<Message> {
    this.send({ id, method, params });
    for (;;) {
      const answer = this.seen.find((each) => each.id === id && each.method === undefined);
      if (answer !== undefined) return answer;
      await new Promise(setImmediate);
    }
  }
}

const unasked = () => assert.fail("nobody asked for it");
const LISTENER: AgentListener = {
  update: () => undefined,
  requestPermission: unasked,
  readTextFile: unasked,
  writeTextFile: unasked,
  createTerminal: unasked,
  terminalOutput: unasked,
  waitForExit: unasked,
  killTerminal: unasked,
  releaseTerminal: unasked,
  elicit: unasked,
  askServer: unasked,
};

async function open(listener: Partial<AgentListener> = {}, hello?: object) {
  const [ours, theirs] = memoryPair();
  const agent = new RawAgent(theirs, hello);
  const connection = await connectAgent(ours, { ...LISTENER, ...listener });
  return { agent, connection, [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose]() };
}

describe("AgentConnection", () => {
  it("sends initialize with what we support, and keeps the agent's answer", async () => {
    const agentCapabilities = { loadSession: true };
    await using opened = await open({}, { protocolVersion: 1, agentCapabilities });
    const [hello] = opened.agent.seen;
    const { clientCapabilities, protocolVersion } = (hello?.params ?? {}) as Record<
      string,
      unknown
    >;
    assert.equal(protocolVersion, 1);
    assert.deepEqual(clientCapabilities, CAPABILITIES);
    assert.deepEqual(opened.connection.capabilities, agentCapabilities);
  });

  it("refuses an agent with another version, or with an invalid answer", async () => {
    await assert.rejects(open({}, { protocolVersion: 2 }), {
      code: "unavailable",
      message: /it speaks version 2 of ACP, not 1/,
    });
    await assert.rejects(open({}, { protocolVersion: "1" }), /protocolVersion/);
  });

  it("answers an agent's failed request with the code of the specification", async () => {
    await using opened = await open({
      readTextFile: async ({ path }) => {
        if (path === "/gone") throw new SessionError("file-not-found", "There is none", { path });
        return { content: "text" };
      },
    });
    const { agent } = opened;
    const read = (id: number, path: string) =>
      agent.ask(id, "fs/read_text_file", { sessionId: "s", path });
    assert.deepEqual((await read(1, "/a")).result, { content: "text" });
    const { error } = (await read(2, "/gone")) as { error?: { code: number; data: object } };
    assert.deepEqual(
      [error?.code, error?.data],
      [-31700, { path: "/gone", details: "There is none" }],
    );
    const { error: wrong } = (await read(3, "relative")) as { error?: { code: number } };
    assert.equal(wrong?.code, -32602);
    const { error: unknown } = (await agent.ask(4, "fs/format_disk", {})) as {
      error?: { code: number };
    };
    assert.equal(unknown?.code, -32601);
  });

  it("stops reading an agent's output while its updates are not stored", async () => {
    const stored = Promise.withResolvers<void>();
    const heard: unknown[] = [];
    await using opened = await open({
      update: ({ update }) => {
        heard.push(update.sessionUpdate);
        return heard.length === 1 ? stored.promise : undefined;
      },
    });
    const update = (sessionUpdate: string) =>
      opened.agent.send({
        method: "session/update",
        params: { sessionId: "s", update: { sessionUpdate } },
      });
    update("one");
    await until(() => heard.length > 0);
    update("two");
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
    assert.deepEqual(heard, ["one"]);
    stored.resolve();
    await until(() => heard.length >= 2);
    assert.deepEqual(heard, ["one", "two"]);
  });

  it("cancels a prompt with a notification, and fails what waits when the agent has ended", async () => {
    await using opened = await open();
    const { agent, connection } = opened;
    const prompt = [{ type: "text", text: "x" }];
    const waiting = connection.request(METHODS.prompt, { sessionId: "s", prompt });
    const failed = assert.rejects(waiting, { code: "closed" });
    connection.cancel("s");
    await until(() => agent.seen.some(({ method }) => method === "session/cancel"));
    const cancel = agent.seen.find(({ method }) => method === "session/cancel");
    assert.deepEqual([cancel?.id, cancel?.params], [undefined, { sessionId: "s" }]);
    await agent.channel.finish();
    await connection.ended;
    await connection[Symbol.asyncDispose]();
    await failed;
  });
});
