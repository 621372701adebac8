import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp, type TestClient } from "../../../test/support/acp-app.ts";
import { chunk } from "../../../test/support/scripted-agent.ts";
import type { SessionUpdate } from "../../session/agent.ts";
import { ROOM } from "../../wire/channel.ts";
import { AcpConnection } from "./connection.ts";

describe("the ACP door, for clients whose principals are known", { timeout: 30_000 }, () => {
  const place = { cwd: "/tmp", mcpServers: [] };

  async function come(app: AcpApp, id?: string, name?: string): Promise<TestClient> {
    const client = app.connect({}, id === undefined ? undefined : { id, name });
    await client.initialize();
    return client;
  }

  it("hides the sessions of others, open or not", async () => {
    await using app = await AcpApp.open();
    const ann = await come(app, "token ann", "ann");
    const bob = await come(app, "token bob", "bob");
    const { sessionId } = await ann.ask("session/new", place);
    const prompt = [{ type: "text", text: "x" }];
    const others = async (): Promise<void> => {
      for (const [method, params] of [
        ["session/load", place],
        ["session/resume", place],
        ["session/fork", place],
        ["session/prompt", { prompt }],
        ["session/set_mode", { modeId: "architect" }],
        ["session/set_model", { modelId: "openai/gpt-4" }],
        ["session/set_config_option", { configId: "mode", value: "build" }],
        ["session/close", {}],
        ["session/delete", {}],
      ] as const) {
        await assert.rejects(bob.ask(method, { sessionId, ...params }), { code: -31900 }, method);
      }
      assert.deepEqual((await bob.ask("session/list", {})).sessions, []);
    };
    await others();
    await ann.ask("session/close", { sessionId });
    await others();
    assert.equal((await ann.ask("session/list", {})).sessions.length, 1);
    await ann.ask("session/load", { sessionId, ...place });
    const fork = await ann.ask("session/fork", { sessionId, ...place });
    assert.equal((await ann.ask("session/list", {})).sessions.length, 2);
    await assert.rejects(bob.ask("session/load", { sessionId: fork.sessionId, ...place }));
    await ann.ask("session/delete", { sessionId });
    assert.equal((await ann.ask("session/list", {})).sessions.length, 1);
  });

  it("does not let a principal cancel the turns of others", async () => {
    const release = Promise.withResolvers<void>();
    await using app = await AcpApp.open({
      script: async (turn) => {
        await turn.update(chunk("working"));
        await release.promise;
      },
    });
    const ann = await come(app, "token ann");
    const bob = await come(app, "token bob");
    const { sessionId } = await ann.ask("session/new", place);
    const end = ann.prompt(String(sessionId), "x");
    await ann.find(() => ann.text === "working");
    bob.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    await bob.ask("session/list", {});
    release.resolve();
    assert.deepEqual(await end, { stopReason: "end_turn" });
  });

  it("shows everything to the owner, and names people by their tokens", async () => {
    await using app = await AcpApp.open();
    const ann = await come(app, "token ann", "ann");
    const { sessionId } = await ann.ask("session/new", place);
    await ann.prompt(String(sessionId), "x");
    const own = await come(app);
    assert.equal((await own.ask("session/list", {})).sessions.length, 1);
    await own.ask("session/load", { sessionId, ...place });
    const prompts: unknown[] = [];
    const events = (await Array.fromAsync(app.log.read(String(sessionId)))).flat();
    for (const { message } of events) {
      const { kind, by } = message as { kind: string; by?: string };
      if (kind === "prompt") prompts.push(by);
    }
    assert.deepEqual(prompts, ["ann"]);
    // With the owner's token it is the same; who has none finds what nobody else has begun.
    await own.ask("session/new", place);
    const owner = await come(app, "");
    assert.equal((await owner.ask("session/list", {})).sessions.length, 2);
    const stranger = await come(app, "anyone");
    assert.deepEqual((await stranger.ask("session/list", {})).sessions, []);
  });

  it("asks each principal again, even if another has chosen always", async () => {
    const asked: string[] = [];
    await using app = await AcpApp.open({
      script: async (turn) => {
        const outcome = await turn.requestPermission({
          toolCall: { toolCallId: "1", title: "Run npm install" },
          subject: { action: "fetch", host: "x.example" },
          options: [
            { optionId: "always", name: "Always", kind: "allow_always" },
            { optionId: "no", name: "No", kind: "reject_once" },
          ],
        });
        await turn.update(chunk(outcome.outcome === "selected" ? outcome.optionId : "none"));
      },
    });
    const prompted = async (name: string, id: string | undefined, optionId: string) => {
      const client = await come(app, id, name);
      client.answer = () => {
        asked.push(name);
        return { result: { outcome: { outcome: "selected", optionId } } };
      };
      const { sessionId } = await client.ask("session/new", place);
      await client.prompt(String(sessionId), "x");
      return client.text;
    };
    assert.equal(await prompted("ann", "token ann", "always"), "always");
    assert.equal(await prompted("ann", "token ann", "no"), "always", "her rule holds for her");
    assert.equal(await prompted("bob", "token bob", "no"), "no");
    assert.equal(await prompted("owner", undefined, "no"), "no");
    assert.deepEqual(asked, ["ann", "bob", "owner"]);
    const rules = await app.rules.list("/tmp");
    assert.deepEqual(
      rules.map(({ by, principal }) => ({ by, principal })),
      [{ by: "ann", principal: "token ann" }],
    );
  });
});

describe("AcpConnection", { timeout: 30_000 }, () => {
  it("agrees on version 2 with clients that use it, and on no unsupported version", async () => {
    await using app = await AcpApp.open();
    const info = { name: "new", version: "1" };
    for (const [params, version] of [
      [{ protocolVersion: 2, info }, 2],
      [{ protocolVersion: 3, info }, 2],
      [{ protocolVersion: 65_535, info, capabilities: {} }, 2],
      [{ protocolVersion: 1 }, 1],
      [{ protocolVersion: 0 }, 1],
      // A number alone does not make it version 2.
      [{ protocolVersion: 2, clientInfo: info, clientCapabilities: {} }, 1],
      [{ protocolVersion: 99 }, 1],
    ] as const) {
      const client = app.connect({}, undefined, version);
      const hello = await client.ask("initialize", params);
      assert.equal(hello.protocolVersion, version, JSON.stringify(params));
      assert.equal("agentInfo" in hello, version === 1);
      assert.equal("info" in hello, version === 2);
      const other = version === 1 ? { protocolVersion: 2, info } : { protocolVersion: 1 };
      await assert.rejects(client.ask("initialize", other), { code: -32600 });
      assert.equal((await client.ask("initialize", params)).protocolVersion, version);
    }
  });
});

describe("what a client sees of a session", { timeout: 30_000 }, () => {
  const tool = (fields: object, kind = "tool_call_update"): SessionUpdate => ({
    ...{ sessionUpdate: kind, toolCallId: "t" },
    ...fields,
  });
  const output = (data: string): object => ({ terminal_output_delta: { terminal_id: "t", data } });
  const BEGIN = tool({ title: "ls", _meta: { terminal_info: { terminal_id: "t" } } }, "tool_call");

  it("is the whole output of a command so far, also when nothing comes after it", async (t) => {
    const { mock } = t.mock.method(AcpConnection.prototype, "detached");
    const release = Promise.withResolvers<void>();
    await using app = await AcpApp.open({
      script: async (turn) => {
        await turn.update(BEGIN);
        for (const data of ["one\n", "two\n"]) await turn.update(tool({ _meta: output(data) }));
        await release.promise;
      },
    });
    const { client, sessionId } = await app.client();
    const end = client.prompt(sessionId, "go");
    const shown = (): string => JSON.stringify(client.updates.at(-1)?.content ?? "");
    await client.find(() => shown().includes("one\\ntwo"));
    release.resolve();
    await end;
    mock.resetCalls();
    await client.ask("session/close", { sessionId });
    assert.deepEqual(
      mock.calls.map(({ arguments: [id] }) => id),
      [sessionId],
    );
  });

  /** A connection, and what is sent on it. */
  function opened(): { readonly connection: AcpConnection; readonly sent: string[] } {
    const connection = new AcpConnection();
    const sent: string[] = [];
    connection.open(undefined as never, (text) => {
      sent.push(text);
      return ROOM;
    });
    return { connection, sent };
  }

  const shownAs = (update: SessionUpdate) => ({
    ...{ seq: 1, kind: update.sessionUpdate, text: JSON.stringify(update) },
  });

  it("is forgotten when it detaches", () => {
    const { connection, sent } = opened();
    void connection.show("s", shownAs(BEGIN));
    void connection.show("s", shownAs(tool({ _meta: output("one") })));
    connection.detached("s");
    void connection.show("s", shownAs(tool({ _meta: output("two") })));
    assert.match(sent.at(-1) ?? "", /"```console\\ntwo\\n```"/);
    connection.close();
  });

  it("counts by its messages, of which an update may become several", () => {
    const { connection, sent } = opened();
    connection.capabilities = { ...connection.capabilities, terminals: "updates" };
    let counted = 0;
    const last = { ...output("x"), terminal_exit: { terminal_id: "t", exit_code: 0 } };
    for (const update of [BEGIN, tool({ status: "completed", _meta: last })]) {
      void connection.show("s", shownAs(update), (messages) => (counted += messages));
      counted++;
    }
    assert.deepEqual([sent.length, counted], [5, 5]);
    connection.close();
  });
});
