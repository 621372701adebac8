import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp, type TestClient } from "../../../test/support/acp-app.ts";

const ASK = "elicitation/create";
const FORMS = { elicitation: { form: {} } };
const QUESTION = { mode: "form", message: "Which?", requestedSchema: {} };
const ACCEPTED = { action: "accept", content: { name: "b" } };

/** An agent that asks once; `answer` is what it got. */
async function open(): Promise<{ app: AcpApp; answer: Promise<unknown> }> {
  const { promise: answer, resolve } = Promise.withResolvers<unknown>();
  const app = await AcpApp.open({
    script: async ({ client }) => {
      resolve(await client.elicit?.(QUESTION).catch((error: Error) => error.message));
    },
  });
  return { app, answer };
}

async function join(app: AcpApp, sessionId: string, more: object = FORMS): Promise<TestClient> {
  const client = app.connect();
  await client.initialize(more);
  await client.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
  return client;
}

describe("a question that several clients are asked", { timeout: 30_000 }, () => {
  it("goes to those that can show it; the first answer counts and it is withdrawn from others", async () => {
    const { app, answer } = await open();
    await using _ = app;
    const { client, sessionId } = await app.client(FORMS);
    const other = await join(app, sessionId);
    const plain = await join(app, sessionId, {});
    const prompt = client.prompt(sessionId, "go");
    const mine = await client.request(ASK);
    const { id } = await other.request(ASK);
    const { notes } = await app.sessions.need(sessionId);
    const { message, turn } = notes.question as { message: string; turn: string };
    assert.deepEqual([message, turn], ["Which?", notes.turn], "others see that it is asked");
    other.send({ jsonrpc: "2.0", id, result: ACCEPTED });
    await prompt;
    assert.deepEqual(await answer, ACCEPTED);
    const withdrawn = await client.request("$/cancel_request");
    assert.equal(withdrawn.params.requestId, mine.id);
    assert.equal((await app.sessions.need(sessionId)).notes.question, undefined);
    assert.equal(
      plain.messages.some(({ method }) => method === ASK),
      false,
    );
  });

  it("goes to a client that attaches while it is open, also after the first has gone", async () => {
    const { app, answer } = await open();
    await using _ = app;
    const { client, sessionId } = await app.client(FORMS);
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
    await client.request(ASK);
    await client.leave();
    const later = await join(app, sessionId);
    const { id } = await later.request(ASK);
    later.send({ jsonrpc: "2.0", id, result: { action: "decline" } });
    assert.deepEqual(await answer, { action: "decline" });
  });

  it("is left to the others by a client that answers with an error, and fails with the last", async () => {
    const { app, answer } = await open();
    await using _ = app;
    const { client, sessionId } = await app.client(FORMS);
    const other = await join(app, sessionId);
    const prompt = client.prompt(sessionId, "go");
    const error = { code: -32_603, message: "No window" };
    client.send({ jsonrpc: "2.0", id: (await client.request(ASK)).id, error });
    other.send({ jsonrpc: "2.0", id: (await other.request(ASK)).id, error });
    await prompt;
    assert.match(String(await answer), /No window/);
  });

  it("is cancelled with its turn", async () => {
    const { app, answer } = await open();
    await using _ = app;
    const { client, sessionId } = await app.client(FORMS);
    const prompt = client.prompt(sessionId, "go");
    await client.request(ASK);
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.equal((await prompt).stopReason, "cancelled");
    assert.deepEqual(await answer, { action: "cancel" });
  });
});
