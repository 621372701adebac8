import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { AcpApp, type Message, type TestClient } from "../../../test/support/acp-app.ts";
import { chunk } from "../../../test/support/scripted-agent.ts";

const COUNT = 2_000;
const NUMBERS = Array.from({ length: COUNT }, (_, at) => `${at} `);
/** No limit to the rate. */
const LIMITS = { updateRate: undefined };
const OPTIONS = [{ optionId: "yes", name: "Yes", kind: "allow_once" }] as const;

/** A client that knows only ACP, and reads one message in a turn of the event loop. */
async function readSlowly(client: TestClient, isDone: () => boolean): Promise<void> {
  for (let release = client.pause(); ; release = client.pause()) {
    await nextTurn();
    release();
    if (isDone()) return;
  }
}

function indexOf(client: TestClient, matches: (message: Message) => boolean): number {
  return client.messages.findIndex(matches);
}

/** What was said up to a message. */
function textBefore(client: TestClient, end: number): string {
  return client.messages
    .slice(0, end)
    .map(({ params }) => params?.update)
    .filter((update) => update?.sessionUpdate === "agent_message_chunk")
    .map(({ content }) => content.text as string)
    .join("");
}

describe("a client that reads slowly", { timeout: 60_000 }, () => {
  it("is sent from the log what it has missed, in order, and delays nobody", async () => {
    const text = (at: number): string => `${at} `.padEnd(1000, "x");
    const all = Array.from({ length: 50 }, (_, at) => text(at)).join("");
    await using app = await AcpApp.open({
      script: async (turn) => {
        await Promise.all(NUMBERS.slice(0, 50).map((_, at) => turn.update(chunk(text(at)))));
      },
      sessionLimits: LIMITS,
    });
    const { client, sessionId } = await app.client();
    const slow = app.connect({ highWater: 2_000 });
    await slow.initialize();
    await slow.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const release = slow.pause();
    await client.prompt(sessionId, "go");
    await client.prompt(sessionId, "again");
    assert.equal(client.text, all + all);
    assert.ok(slow.text.length < 50_000, "it has fallen behind");
    release();
    const isEnd = ({ _meta }: Message): boolean => _meta?.trunkline?.turn?.state === "end_turn";
    await slow.find(() => slow.updates.filter(isEnd).length === 2);
    assert.equal(slow.text, all + all);
    // It also sees what others asked, and when their turns began and ended, each at its place.
    const seen = slow.updates.flatMap(({ sessionUpdate, content, _meta }) => {
      if (sessionUpdate === "user_message_chunk") return [content.text];
      return _meta?.trunkline?.turn?.state ?? [];
    });
    const states = ["running", "end_turn"];
    assert.deepEqual(seen, ["go", ...states, "again", ...states]);
    assert.ok(!JSON.stringify(slow.messages).includes("lagged"));
  });

  it("is sent each update once, before and after a question, and then the answer to its prompt", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => {
        for (const [at, text] of NUMBERS.entries()) {
          void turn.update(chunk(text));
          if (at !== COUNT / 2) continue;
          const toolCall = { toolCallId: "t", title: "T", kind: "edit", status: "pending" };
          await turn.requestPermission({ toolCall, options: OPTIONS });
        }
      },
      sessionLimits: LIMITS,
    });
    const fast = await app.client();
    const slow = app.connect({ highWater: 500 });
    await slow.initialize();
    const { sessionId } = fast;
    await slow.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    slow.answer = () => ({ result: { outcome: { outcome: "selected", optionId: "yes" } } });
    let isDone = false;
    const reading = readSlowly(slow, () => isDone);
    const id = slow.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
    const { result } = await slow.answerTo(id);
    isDone = true;
    await reading;
    assert.deepEqual(result, { stopReason: "end_turn" });
    assert.equal(textBefore(slow, slow.messages.length), NUMBERS.join(""));
    const asked = indexOf(slow, ({ method }) => method === "session/request_permission");
    assert.equal(textBefore(slow, asked), NUMBERS.slice(0, COUNT / 2 + 1).join(""));
    const answered = indexOf(slow, (message) => message.id === id && message.method === undefined);
    assert.equal(textBefore(slow, answered), NUMBERS.join(""));
    assert.equal(fast.client.text, NUMBERS.join(""));
  });

  it("gets all parts of an update that is larger than a message may be", async () => {
    const long = Array.from({ length: 3_000 }, (_, at) => `${at} `).join("");
    await using app = await AcpApp.open({
      script: async (turn) => {
        for (const text of ["a", long, "b", long, "c"]) await turn.update(chunk(text));
      },
      sessionLimits: { ...LIMITS, updateSize: 2_000 },
    });
    const { client, sessionId } = await app.client();
    const slow = app.connect({ highWater: 500 });
    await slow.initialize();
    await slow.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const release = slow.pause();
    await client.prompt(sessionId, "go");
    release();
    await slow.find(() => slow.text.endsWith("c"));
    assert.equal(slow.text, `a${long}b${long}c`);
  });

  it("is sent the rest once the log can be read again", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => {
        await Promise.all(NUMBERS.slice(0, 200).map((text) => turn.update(chunk(text))));
      },
      sessionLimits: LIMITS,
    });
    const { client, sessionId } = await app.client();
    const slow = app.connect({ highWater: 100 });
    await slow.initialize();
    await slow.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const release = slow.pause();
    await client.prompt(sessionId, "go");
    const read = app.log.read.bind(app.log);
    let failures = 0;
    app.log.read = async function* (id, after) {
      for await (const batch of read(id, after)) {
        const upTo = failures < 2 ? 50 * (failures + 1) : Infinity;
        yield batch.filter(({ seq }) => seq <= upTo);
        if (batch.every(({ seq }) => seq <= upTo)) continue;
        failures++;
        throw new Error("The disk fails");
      }
    };
    release();
    await slow.find(() => slow.text.endsWith("199 "));
    assert.equal(slow.text, NUMBERS.slice(0, 200).join(""));
    assert.equal(failures, 2);
  });

  it("gets its answer after all updates of the turn", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => {
        for (let at = 0; at < 20; at++) await turn.update(chunk("x".repeat(1000)));
      },
    });
    const slow = app.connect({ highWater: 2_000 });
    await slow.initialize();
    const { sessionId } = await slow.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    const other = app.connect();
    await other.initialize();
    await other.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const release = slow.pause();
    const answered = slow.prompt(sessionId, "go");
    await other.find(({ params }) => params?.update?._meta?.trunkline?.turn?.state === "end_turn");
    release();
    await answered;
    assert.equal(slow.text.length, 20_000);
  });
});
