import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp } from "../../../test/support/acp-app.ts";
import { chunk, ScriptedAgent } from "../../../test/support/scripted-agent.ts";
import { until } from "../../../test/support/until.ts";

describe("clients of a session", { timeout: 30_000 }, () => {
  it("can resume after an event, and see every later event once", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => {
        for (const word of ["a", "b", "c"]) await turn.update(chunk(word));
      },
    });
    const client = app.connect();
    await client.initialize({ _meta: { trunkline: { sequence: true } } });
    const { sessionId } = await client.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    await client.prompt(String(sessionId), "go");
    const b = client.messages.find(({ params }) => params?.update?.content?.text === "b");
    assert.ok(b);
    const { seq: after } = b.params._meta.trunkline as { seq: number };
    const again = app.connect();
    await again.initialize();
    const params = { sessionId, cwd: "/tmp", _meta: { trunkline: { after } } };
    await again.ask("session/resume", params);
    assert.equal(again.text, "c");
    await client.prompt(String(sessionId), "go");
    await again.find(({ params: it }) => it?.update?._meta !== undefined);
    assert.equal(again.text, "cabc");
  });

  it("are not shown their own prompts again when they resume, also in another process", async () => {
    await using app = await AcpApp.open();
    const origin = crypto.randomUUID();
    const introduction = { protocolVersion: 1, _meta: { trunkline: { origin } } };
    const client = app.connect();
    await client.ask("initialize", introduction);
    const { sessionId } = await client.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    await client.prompt(String(sessionId), "mine");
    const again = app.connect();
    await again.ask("initialize", introduction);
    const stranger = app.connect();
    await stranger.initialize();
    const params = { sessionId, cwd: "/tmp", mcpServers: [] };
    for (const each of [again, stranger]) {
      await each.ask("session/resume", { ...params, _meta: { trunkline: { after: 0 } } });
    }
    const prompts = (): string[][] =>
      [again, stranger].map(({ updates }) =>
        updates.flatMap(({ sessionUpdate, content }) =>
          sessionUpdate === "user_message_chunk" ? [content.text as string] : [],
        ),
      );
    assert.deepEqual(prompts(), [[], ["mine"]]);
    // Whoever loads a session has nothing of it yet.
    await again.ask("session/load", params);
    assert.deepEqual(prompts(), [["mine"], ["mine"]]);
  });

  it("see what was said before they attached, once and after the answer", async () => {
    const agent = new ScriptedAgent();
    const open = agent.open.bind(agent);
    agent.open = async (options) => {
      options.update(chunk("early "));
      const session = await open(options);
      options.update(chunk("and late"));
      return session;
    };
    await using app = await AcpApp.open({ agent });
    const { client, sessionId } = await app.client();
    await client.find(() => client.text === "early and late");
    const order = client.messages.map(({ method, id }) => method ?? id);
    assert.deepEqual(order.slice(0, 3), [1, 2, "session/update"]);
    const place = { sessionId, cwd: "/tmp", mcpServers: [] };
    const other = app.connect();
    await other.initialize();
    await other.ask("session/resume", place);
    await client.prompt(sessionId, "go");
    assert.equal(other.text, "");
    await client.ask("session/close", { sessionId });
    await other.ask("session/load", place);
    assert.equal(other.text, "early and lateearly and late");
  });

  it("are forgotten if they leave while the session is opened", async () => {
    await using app = await AcpApp.open();
    const client = app.connect();
    const open = app.agent.open.bind(app.agent);
    const left = Promise.withResolvers<void>();
    app.agent.open = async (options) => {
      await left.promise;
      return open(options);
    };
    client.post("session/new", { cwd: "/tmp" });
    await until(async () => app.sessions.size > 0 || (await app.log.list()).length > 0);
    await client.leave();
    left.resolve();
    await until(() => app.sessions.size > 0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const [record] = await app.log.list();
    const session = app.sessions.get(record?.id ?? "");
    assert.ok(session !== undefined && session.idleFor > 0);
  });
});
