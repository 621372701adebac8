import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { DrivenAgent } from "../../../test/agent/driven-agent.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
import { groupEnd } from "../../../test/agent/group-end.ts";
import { AcpApp, type Message, type TestClient } from "../../../test/support/acp-app.ts";
import { until } from "../../../test/support/until.ts";

const ALLOWED = { result: { outcome: { outcome: "selected", optionId: "allow" } } };
const LASTING = "echo $$ > pid; sleep 8100 & sleep 8200";

const cancellable = ({ capabilities }: Message): boolean => capabilities?.cancel !== undefined;

interface OneCall extends AsyncDisposable {
  readonly client: TestClient;
  readonly sessionId: string;
  readonly toolCallId: string;
  readonly rig: AgentRig;
  readonly llm: FakeLlm;
  /** Resolves when the turn is over. */
  readonly end: Promise<unknown>;
}

/** A turn in which the model runs one command that lasts, and a client of version 2 that may cancel it. */
async function oneCall(answer: TestClient["answer"]): Promise<OneCall> {
  await using opened = new AsyncDisposableStack();
  const toolCalls = [{ name: "run_command", arguments: { command: LASTING } }];
  const llm = opened.use(await FakeLlm.start([{ toolCalls }, { content: "Then not." }]));
  const rig = opened.use(new AgentRig({ llm }));
  const app = opened.use(await AcpApp.open({ agent: rig.agent }));
  const client = await app.connectV2();
  client.answer = answer;
  const made = await client.ask("session/new", { cwd: rig.cwd, mcpServers: [] });
  const sessionId = String(made.sessionId);
  await client.prompt(sessionId, "go");
  await until(() => client.updates.some(cancellable));
  const { toolCallId } = client.updates.find(cancellable) ?? {};
  const isIdle = ({ state }: Message): boolean => state === "idle";
  const end = until(() => client.updates.some(isIdle));
  const kept = opened.move();
  const parts = { client, sessionId, toolCallId: String(toolCallId), rig, llm, end };
  return { ...parts, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

describe("tool_call/cancel", () => {
  it("ends a running command with all that it started, and the turn goes on", async () => {
    await using it = await oneCall(() => ALLOWED);
    const { client, sessionId, toolCallId, rig, llm } = it;
    const pid = join(rig.cwd, "pid");
    await until(() => existsSync(pid) && readFileSync(pid, "utf8").endsWith("\n"));
    assert.deepEqual(await client.ask("tool_call/cancel", { sessionId, toolCallId }), {});
    await it.end;
    await groupEnd(Number(rig.read("pid")));
    const last = client.updates.findLast((update) => update.toolCallId === toolCallId);
    assert.equal(last?.status, "cancelled");
    assert.equal(last?.capabilities, null, "it is not offered any more");
    assert.match(llm.seen(-1), /The person cancelled this call/);
    assert.match(client.text, /Then not\./);
    // It is over, or was never there.
    for (const id of [toolCallId, "other"]) {
      await assert.rejects(client.ask("tool_call/cancel", { sessionId, toolCallId: id }), {
        code: -32602,
      });
    }
  });

  it("withdraws what the call asks, and nothing is run", async () => {
    let question: unknown;
    await using it = await oneCall(({ id, method }) => {
      if (method === "session/request_permission") question = id;
      return undefined;
    });
    const { client, sessionId, toolCallId, rig } = it;
    await until(() => question !== undefined);
    await client.ask("tool_call/cancel", { sessionId, toolCallId });
    await client.find(
      ({ method, params }) => method === "$/cancel_request" && params.requestId === question,
    );
    await it.end;
    assert.equal(existsSync(join(rig.cwd, "pid")), false);
    assert.match(client.text, /Then not\./);
  });

  it("is passed on to agents of others that know it, and refused where they do not", async () => {
    // Version 1 has no such method; we take it, and so do runs.
    await using knows = await DrivenAgent.open({}, { flags: ["--cancels"], isOdd: true });
    await using not = await DrivenAgent.open({}, { isOdd: true });
    for (const { client, sessionId } of [knows, not]) {
      const call = client.ask("tool_call/cancel", { sessionId, toolCallId: "run-1" });
      if (client === knows.client) assert.deepEqual(await call, {});
      else await assert.rejects(call, { code: -32602 });
    }
    await until(() => knows.client.text.includes("Cancels call run-1."));
    const second = await knows.app.connectV2();
    const { sessionId } = knows;
    await second.ask("session/resume", { sessionId, cwd: knows.folder, mcpServers: [] });
    await second.ask("terminal/cancel", { sessionId, terminalId: "t-1" });
    await until(() => knows.client.text.includes("Cancels terminal t-1."));
  });
});
