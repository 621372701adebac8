import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Json } from "../../../test/support/acp-app.ts";
import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { SessionError } from "../../session/session-error.ts";
import type { Sessions } from "../../session/sessions.ts";
import type { Channel } from "../../wire/channel.ts";
import { memoryPair } from "../../wire/channel/memory.ts";
import { AcpDoor } from "./door.ts";
import { AcpConversation } from "./serve.ts";

type Say = (message: object) => void;

/** A process that may have sessions open. It answers as it is told, and records what it was asked. */
class OtherProcess {
  readonly asked: Json[] = [];
  readonly joining: Channel<string>;
  readonly #channel: Channel<string>;

  constructor(serve: (message: Json, say: Say, process: OtherProcess) => void) {
    [this.#channel, this.joining] = memoryPair();
    const say: Say = (message) =>
      background(this.#channel.send(JSON.stringify({ jsonrpc: "2.0", ...message })), "Saying");
    this.#channel.receive({
      message: (text) => {
        const message: Json = JSON.parse(text);
        if (message.method === "initialize") say({ id: message.id, result: {} });
        else {
          this.asked.push(message);
          serve(message, say, this);
        }
      },
      fault: () => {},
      end: () => {},
    });
  }

  end(): void {
    background(this.#channel[Symbol.asyncDispose](), "Ending");
  }
}

function update(seq: number): object {
  const update = {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text: `${seq}` },
  };
  const params = { sessionId: "s1", update, _meta: { trunkline: { seq } } };
  return { method: "session/update", params };
}

/** A client of a door whose sessions are open in other processes, the first of which is asked first. */
class Rig implements AsyncDisposable {
  readonly sink = new RecordingSink();
  readonly #client: Channel<string>;
  readonly #conversation: AcpConversation;

  constructor(...processes: readonly OtherProcess[]) {
    let homes = 0;
    const names = processes.map((_, at) => String(at));
    const heldByLast = Object.assign(new TrunklineError("conflict", "held"), {
      holder: names.at(-1),
    });
    const sessions = {
      get: () => undefined,
      current: async () => undefined,
      forget: () => {},
      fixedSetup: async () => undefined,
      create: async () => {
        throw new TrunklineError("unavailable", "A gateway does not create sessions.");
      },
      open: async () => {
        throw new SessionError("session-locked", "held", {}, { cause: heldByLast });
      },
    };
    const door = new AcpDoor({
      sessions: async () => sessions as unknown as Sessions,
      reach: async (holder) => (processes[Number(holder)] as OtherProcess).joining,
      home: async () => names[Math.min(homes++, names.length - 1)],
    });
    const [client, served] = memoryPair();
    this.#client = client;
    client.receive(this.sink);
    this.#conversation = new AcpConversation(door, served, { peer: door.peerOptions });
  }

  async ask(method: string, params: object): Promise<Json> {
    const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    background(this.#client.send(text), "Asking");
    const isAnswer = (each: string): boolean => JSON.parse(each).id === 1;
    await this.sink.until(({ messages }) => messages.some(isAnswer));
    return JSON.parse(this.sink.messages.find(isAnswer) ?? "");
  }

  /** The texts that the client was shown. */
  get shown(): string[] {
    const texts = this.sink.messages.map((text) => JSON.parse(text).params?.update?.content?.text);
    return texts.filter((text) => text !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#conversation.close(0);
  }
}

describe("the ACP door, with sessions in other processes", { timeout: 600_000 }, () => {
  it("shows no event twice if the process ends that replays a session", async () => {
    const dying = new OtherProcess((_, say, process) => {
      say(update(1));
      say(update(2));
      process.end();
    });
    const next = new OtherProcess(({ id }, say) => {
      say(update(3));
      say({ id, result: {} });
    });
    await using rig = new Rig(dying, next);
    const { result } = await rig.ask("session/load", {
      sessionId: "s1",
      cwd: "/w",
      mcpServers: [],
    });
    assert.deepEqual(result, {});
    assert.equal(next.asked[0].params._meta.trunkline.after, 2);
    assert.deepEqual(rig.shown, ["1", "2", "3"]);
  });

  it("begins a session in another process if the first one ends", async () => {
    const dying = new OtherProcess((_message, _say, process) => process.end());
    const next = new OtherProcess(({ id }, say) => say({ id, result: { sessionId: "s1" } }));
    await using rig = new Rig(dying, next);
    const { result } = await rig.ask("session/new", { cwd: "/w", mcpServers: [] });
    assert.equal(result?.sessionId, "s1");
    assert.equal(dying.asked.length, 1);
  });
});
