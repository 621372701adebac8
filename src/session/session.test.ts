import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../test/support/requirement.ts";
import { AcpHouse } from "../../test/support/acp-house.ts";
import { chunk, promptText } from "../../test/support/scripted-agent.ts";
import type { PermissionOutcome, PermissionRequest } from "./permission/permission.ts";

const REQUEST: PermissionRequest = {
  toolCall: {
    toolCallId: "tool-456",
    title: "Run npm install",
    status: "pending",
    kind: "execute",
    locations: [],
  },
  options: [
    { optionId: "once", kind: "allow_once", name: "Allow once" },
    { optionId: "always", kind: "allow_always", name: "Always allow" },
    { optionId: "reject", kind: "reject_once", name: "Reject" },
  ],
  subject: "run npm install",
};

const choose = (optionId: string) => ({ result: { outcome: { outcome: "selected", optionId } } });

describe("a session", { timeout: 30_000 }, () => {
  it("goes on with its turn when the connection drops, and shows all of it to who comes back", async () => {
    const go = Promise.withResolvers<void>();
    await using house = await AcpHouse.open({
      script: async (turn) => {
        await turn.update(chunk("before "));
        await go.promise;
        await turn.update(chunk("after"));
      },
    });
    const { client, sessionId } = await house.client();
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "Hello" }] });
    await client.find(() => client.text === "before ");
    await client.leave();
    const again = house.connect();
    await again.initialize();
    const loaded = await again.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.equal(loaded._meta.trunkline.turn, "running");
    assert.equal(again.text, "before ");
    go.resolve();
    const over = await again.find(({ params }) => params?.update?._meta !== undefined);
    assert.equal(over.params.update._meta.trunkline.turn.state, "end_turn");
    assert.equal(again.text, "before after");
    assert.equal(again.updates[0]?.sessionUpdate, "user_message_chunk");
  });

  it("shows updates to all who are attached, and the prompt to those who did not give it", async () => {
    await using house = await AcpHouse.open({ script: (turn) => turn.update(chunk("Hi")) });
    const { client, sessionId } = await house.client();
    const other = house.connect();
    await other.initialize();
    await other.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await client.prompt(sessionId, "Hello");
    const turns = () => other.updates.map(({ _meta }) => _meta?.trunkline.turn?.state);
    await other.find(() => turns().includes("end_turn"));
    const kinds = (updates: typeof client.updates) => updates.map((one) => one.sessionUpdate);
    assert.deepEqual(kinds(client.updates), ["available_commands_update", "agent_message_chunk"]);
    assert.deepEqual(kinds(other.updates), [
      "available_commands_update",
      "user_message_chunk",
      "session_info_update",
      "agent_message_chunk",
      "session_info_update",
    ]);
    assert.deepEqual(turns(), [undefined, undefined, "running", undefined, "end_turn"]);
  });

  it("asks all who are attached, takes the first answer and tells the others", async () => {
    let outcome: PermissionOutcome | undefined;
    await using house = await AcpHouse.open({
      script: async (turn) => void (outcome = await turn.requestPermission(REQUEST)),
    });
    const { client, sessionId } = await house.client();
    const other = house.connect();
    await other.initialize();
    await other.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const prompt = client.prompt(sessionId, "Install");
    const asked = await client.request("session/request_permission");
    const { subject: _, ...shown } = REQUEST;
    assert.deepEqual(asked.params, { sessionId, ...shown });
    const theirs = await other.request("session/request_permission");
    other.send({ jsonrpc: "2.0", id: theirs.id, ...choose("once") });
    await prompt;
    assert.deepEqual(outcome, { outcome: "selected", optionId: "once", kind: "allow_once" });
    const told = await client.request("$/cancel_request");
    assert.equal(told.params.requestId, asked.id);
  });

  it("asks who attaches later what is still open", async () => {
    await using house = await AcpHouse.open({
      script: async (turn) => void (await turn.requestPermission(REQUEST)),
    });
    const { client, sessionId } = await house.client();
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "Install" }] });
    await client.request("session/request_permission");
    await client.leave();
    const later = house.connect();
    await later.initialize();
    later.answer = () => choose("reject");
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await later.find(({ params }) => params?.update?._meta !== undefined);
    const { outcome, by } = house.audit[0] as { outcome: PermissionOutcome; by: string };
    assert.deepEqual([outcome.outcome, by], ["selected", "test"]);
  });

  it("takes a client that cannot answer for a no, and one that makes options up likewise", async () => {
    const outcomes: PermissionOutcome[] = [];
    await using house = await AcpHouse.open({
      script: async (turn) => void outcomes.push(await turn.requestPermission(REQUEST)),
    });
    const { client, sessionId } = await house.client();
    client.answer = () => ({ error: { code: -32601, message: "Method not found" } });
    await client.prompt(sessionId, "one");
    client.answer = () => choose("made up");
    await client.prompt(sessionId, "two");
    const rejected = { outcome: "selected", optionId: "reject", kind: "reject_once" };
    assert.deepEqual(outcomes, [rejected, rejected]);
  });

  it("remembers 'always' for the workspace, until it is revoked", async () => {
    const outcomes: PermissionOutcome[] = [];
    await using house = await AcpHouse.open({
      script: async (turn) => void outcomes.push(await turn.requestPermission(REQUEST)),
    });
    const { client, sessionId } = await house.client();
    client.answer = () => choose("always");
    await client.prompt(sessionId, "one");
    client.answer = () => choose("reject");
    await client.prompt(sessionId, "two");
    const [rule] = await house.rules.list("/tmp");
    assert.equal(rule?.subject, "run npm install");
    const elsewhere = await client.ask("session/new", { cwd: "/", mcpServers: [] });
    await client.prompt(String(elsewhere.sessionId), "three");
    assert.equal(await house.rules.revoke(rule?.id ?? 0), true);
    await client.prompt(sessionId, "four");
    const kinds = outcomes.map((one) => one.outcome === "selected" && one.kind);
    assert.deepEqual(kinds, ["allow_always", "allow_once", "reject_once", "reject_once"]);
    const by = (house.audit as { by: string }[]).map((entry) => entry.by);
    assert.deepEqual(by, ["test", `rule ${rule?.id}`, "test", "test"]);
  });

  it("refuses a second prompt while one is worked on; other sessions run on", async () => {
    const go = Promise.withResolvers<void>();
    await using house = await AcpHouse.open({
      script: async (turn) => {
        if (promptText(turn) === "wait") await go.promise;
      },
    });
    const { client, sessionId } = await house.client();
    const { sessionId: other } = await client.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    const first = client.prompt(sessionId, "wait");
    await assert.rejects(client.prompt(sessionId, "next"), {
      code: -31902,
      message: "Session locked",
    });
    assert.deepEqual(await client.prompt(String(other), "next"), { stopReason: "end_turn" });
    go.resolve();
    assert.deepEqual(await first, { stopReason: "end_turn" });
  });

  it("calls off what waits for a turn together with the turn", async () => {
    const seen: string[] = [];
    await using house = await AcpHouse.open({
      sessionLimits: { cancelGrace: 1 },
      script: async (turn) => {
        seen.push(promptText(turn));
        await turn.update(chunk("working"));
        if (promptText(turn) === "hang") await new Promise(() => {});
      },
    });
    const { client, sessionId } = await house.client();
    const hang = client.prompt(sessionId, "hang");
    await client.find(() => client.text === "working");
    const wish = { _meta: { trunkline: { whileRunning: "queue" } } };
    const queued = client.prompt(sessionId, "queued", wish);
    await client.ask("session/list", {});
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    const cancelled = { stopReason: "cancelled" };
    assert.deepEqual(await Promise.all([hang, queued]), [cancelled, cancelled]);
    assert.deepEqual(await client.prompt(sessionId, "next"), { stopReason: "end_turn" });
    assert.deepEqual(seen, ["hang", "next"]);
  });

  it("queues or steers where the client asks for it", async () => {
    const seen: unknown[] = [];
    const go = Promise.withResolvers<void>();
    await using house = await AcpHouse.open({
      script: async (turn) => {
        const text = promptText(turn);
        if (text === "first") await go.promise;
        seen.push(text, ...(turn.steering?.().map(([block]) => block?.text) ?? []));
      },
    });
    const { client, sessionId } = await house.client();
    const first = client.prompt(sessionId, "first");
    const wish = (whileRunning: string) => ({ _meta: { trunkline: { whileRunning } } });
    const queued = client.prompt(sessionId, "queued", wish("queue"));
    const steered = client.prompt(sessionId, "steered", wish("steer"));
    // It is stored before it counts.
    for await (const _ of house.log.read(sessionId));
    go.resolve();
    await Promise.all([first, queued, steered]);
    assert.deepEqual(seen, ["first", "steered", "queued"]);
  });

  it("has a prompt that no agent takes into its turn be the next", async () => {
    const go = Promise.withResolvers<void>();
    await using house = await AcpHouse.open({
      script: async (turn) => {
        if (promptText(turn) === "first") await go.promise;
        await turn.update(chunk(`${promptText(turn)}, done. `));
      },
    });
    const { client, sessionId } = await house.client();
    const first = client.prompt(sessionId, "first");
    const wish = { _meta: { trunkline: { whileRunning: "steer" } } };
    const steered = client.prompt(sessionId, "steered", wish);
    await client.ask("session/list", {});
    go.resolve();
    const ended = { stopReason: "end_turn" };
    assert.deepEqual(await Promise.all([first, steered]), [ended, ended]);
    const watcher = house.connect();
    await watcher.initialize();
    await watcher.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const said = watcher.updates.flatMap(({ content }) => content?.text ?? []);
    assert.deepEqual(said, ["first", "first, done. ", "steered", "steered, done. "]);
  });

  it("ends a turn that shows no progress, but not one that waits for a person or a tool", async () => {
    covers("acp.timeout.prompt");
    const tool = { sessionUpdate: "tool_call", toolCallId: "t", title: "Long", status: "pending" };
    const done = { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" };
    await using house = await AcpHouse.open({
      limits: { "session/prompt": { timeout: 500 } },
      sessionLimits: { cancelGrace: 10 },
      script: async (turn) => {
        if (promptText(turn) === "hang") return new Promise(() => {});
        const wait = () => new Promise((resolve) => setTimeout(resolve, 1_100));
        if (promptText(turn) === "ask") await turn.requestPermission(REQUEST);
        await turn.update(tool);
        await wait();
        await turn.update(done);
        return { stopReason: "end_turn" };
      },
    });
    const { client, sessionId } = await house.client();
    await assert.rejects(client.prompt(sessionId, "hang"), { code: -32001 });
    assert.deepEqual(await client.prompt(sessionId, "tool"), { stopReason: "end_turn" });
    const asked = client.prompt(sessionId, "ask");
    const { id } = await client.request("session/request_permission");
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    client.send({ jsonrpc: "2.0", id, ...choose("once") });
    assert.deepEqual(await asked, { stopReason: "end_turn" });
  });

  it("reports a turn as interrupted that was running when the process died", async () => {
    const tool = { sessionUpdate: "tool_call", toolCallId: "t", title: "Long", status: "pending" };
    await using house = await AcpHouse.open({
      script: async (turn) => {
        await turn.update(chunk("half"));
        await turn.update(tool);
        await new Promise(() => {});
      },
    });
    const { client, sessionId } = await house.client();
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "Hello" }] });
    await client.find(({ params }) => params?.update?.sessionUpdate === "tool_call");
    // Another house finds what this one left, as after a SIGKILL.
    const { sessions, log } = house;
    await house.start();
    const later = house.connect();
    await later.initialize({ session: { notices: {} } });
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.deepEqual(
      later.updates.map(({ sessionUpdate, status }) => [sessionUpdate, status]),
      [
        ["user_message_chunk", undefined],
        ["agent_message_chunk", undefined],
        ["tool_call", "pending"],
        ["tool_call_update", "failed"],
        ["notice", undefined],
        ["available_commands_update", undefined],
      ],
    );
    const plain = house.connect();
    await plain.initialize();
    await plain.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.match(plain.text, /^half\n\n\[This turn was interrupted: .*\]\n\n$/);
    const history = [];
    for await (const entry of house.agent.sessions[1]?.options.history ?? []) {
      history.push(entry.kind === "end" ? entry.stopReason : entry.kind);
    }
    assert.ok(history.includes("interrupted"));
    void sessions;
    log.database[Symbol.dispose]();
  });
});
