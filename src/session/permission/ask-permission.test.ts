import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp } from "../../../test/support/acp-app.ts";
import { choose, REQUEST } from "../../../test/support/scripted-agent.ts";
import type { PermissionOutcome } from "./permission.ts";

describe("a permission that several clients are asked for", { timeout: 30_000 }, () => {
  it("goes to all attached clients; the first answer counts and the others are told", async () => {
    let outcome: PermissionOutcome | undefined;
    await using app = await AcpApp.open({
      script: async (turn) => void (outcome = await turn.requestPermission(REQUEST)),
    });
    const { client, sessionId } = await app.client();
    const other = app.connect();
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

  it("goes to clients that attach while it is open", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => void (await turn.requestPermission(REQUEST)),
    });
    const { client, sessionId } = await app.client();
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "Install" }] });
    await client.request("session/request_permission");
    await client.leave();
    const later = app.connect();
    await later.initialize();
    later.answer = () => choose("reject");
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await later.find(({ params }) => params?.update?._meta !== undefined);
    const { outcome, by } = app.audit[0] as { outcome: PermissionOutcome; by: string };
    assert.deepEqual([outcome.outcome, by], ["selected", "test"]);
  });

  it("is refused if a client cannot answer, or answers with an unknown option", async () => {
    const outcomes: PermissionOutcome[] = [];
    await using app = await AcpApp.open({
      script: async (turn) => void outcomes.push(await turn.requestPermission(REQUEST)),
    });
    const { client, sessionId } = await app.client();
    client.answer = () => ({ error: { code: -32601, message: "Method not found" } });
    await client.prompt(sessionId, "one");
    client.answer = () => choose("made up");
    await client.prompt(sessionId, "two");
    const rejected = { outcome: "selected", optionId: "reject", kind: "reject_once" };
    assert.deepEqual(outcomes, [rejected, rejected]);
  });
});
