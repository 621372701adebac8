import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp } from "../../../test/support/acp-app.ts";
import { chunk, choose, REQUEST } from "../../../test/support/scripted-agent.ts";
import type { Turn } from "../agent.ts";
import { type PermissionOutcome, subjectKey } from "./permission.ts";

const OPTIONS = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
] as const;

const ask = (turn: Turn, toolCall: object): Promise<PermissionOutcome> =>
  turn.requestPermission({ toolCall: { toolCallId: "t", ...toolCall }, options: OPTIONS });

const text = (said: string) => [{ type: "content", content: { type: "text", text: said } }];

const allow = () => ({ result: { outcome: { outcome: "selected", optionId: "yes" } } });

describe("PermissionRequests", { timeout: 30_000 }, () => {
  it("show the whole action, up to the limit of the message", async () => {
    const command = `${"echo hello; ".repeat(80_000)}last`;
    await using app = await AcpApp.open({
      script: async (turn) => {
        await ask(turn, { title: command, content: text("short") });
      },
    });
    const { client, sessionId } = await app.client();
    client.answer = allow;
    await client.prompt(sessionId, "go");
    const { params } = await client.request("session/request_permission");
    assert.equal(params.toolCall.title, command);
  });

  it("are refused with a message if they cannot be shown whole, and nobody is asked", async () => {
    const outcomes: unknown[] = [];
    await using app = await AcpApp.open({
      limits: { "session/request_permission": { maxSize: 2_000 } },
      script: async (turn) => {
        const long = ask(turn, { title: "Run", content: text("é".repeat(1_000)) });
        outcomes.push(await long.catch((error: Error) => error.message));
        outcomes.push(await ask(turn, { title: "Run", content: text("é".repeat(500)) }));
      },
    });
    const { client, sessionId } = await app.client();
    client.answer = allow;
    await client.prompt(sessionId, "go");
    assert.match(String(outcomes[0]), /at most 2000 can be shown.*smaller steps/);
    assert.equal((outcomes[1] as PermissionOutcome).outcome, "selected");
    const asked = client.messages.filter(({ method }) => method === "session/request_permission");
    assert.equal(asked.length, 1);
  });

  it("escape hidden characters in titles, content, arguments and options", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => {
        await turn.update({ sessionUpdate: "tool_call", toolCallId: "t", title: "a\u202eb" });
        await turn.requestPermission({
          toolCall: {
            toolCallId: "t",
            title: "rm \u202e -rf\x1b[8m",
            rawInput: { command: "a\u200bb", list: ["\u2066"] },
            content: [
              ...text("x\u2028y\nz"),
              { type: "diff", path: "/a\u200bb", oldText: "a\r\n", newText: "\u{e0041}\r\n" },
            ],
          },
          options: [{ ...OPTIONS[0], name: "Yes\u200f" }, OPTIONS[1]],
        });
      },
    });
    const { client, sessionId } = await app.client();
    client.answer = allow;
    await client.prompt(sessionId, "go");
    const { params } = await client.request("session/request_permission");
    const { title, rawInput, content } = params.toolCall;
    assert.equal(title, String.raw`rm \u202e -rf\u001b[8m`);
    assert.deepEqual(rawInput, { command: String.raw`a\u200bb`, list: [String.raw`\u2066`] });
    assert.equal(content[0].content.text, "x\\u2028y\nz");
    assert.equal(content[1].path, "/a\u200bb", "programs open it");
    assert.deepEqual([content[1].oldText, content[1].newText], ["a\r\n", "\\udb40\\udc41\r\n"]);
    assert.equal(params.options[0].name, String.raw`Yes\u200f`);
    const [told] = client.updates.filter(({ sessionUpdate }) => sessionUpdate === "tool_call");
    assert.equal(told?.title, String.raw`a\u202eb`);
  });

  it("arrive after all earlier updates, however slowly those are sent or read", async () => {
    await using app = await AcpApp.open({
      limits: { "session/update": { rate: { limit: 10, windowMs: 300 } } },
      script: async (turn) => {
        for (let at = 0; at < 12; at++) {
          await turn.update({ sessionUpdate: "tool_call", toolCallId: `t${at}`, title: "short" });
        }
        await turn.update(chunk("x".repeat(10_000)));
        await ask(turn, { title: "whole" });
      },
    });
    const slow = app.connect({ highWater: 1_000 });
    await slow.initialize();
    const { sessionId } = await slow.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    slow.answer = allow;
    const release = slow.pause();
    const answered = slow.prompt(String(sessionId), "go");
    setTimeout(release, 100);
    await answered;
    const at = slow.messages.findIndex(({ method }) => method === "session/request_permission");
    const later = slow.messages.slice(at).filter(({ params }) => {
      return params?.update?.sessionUpdate?.startsWith("tool_call") === true;
    });
    assert.deepEqual(later, []);
    assert.ok(at > 12);
  });

  it("remember 'always' for the workspace, until it is revoked", async () => {
    const outcomes: PermissionOutcome[] = [];
    await using app = await AcpApp.open({
      script: async (turn) => void outcomes.push(await turn.requestPermission(REQUEST)),
    });
    const { client, sessionId } = await app.client();
    client.answer = () => choose("always");
    await client.prompt(sessionId, "one");
    client.answer = () => choose("reject");
    await client.prompt(sessionId, "two");
    const [rule] = await app.rules.list("/tmp");
    assert.equal(rule?.subject, subjectKey(REQUEST.subject ?? { action: "edit" }));
    const elsewhere = await client.ask("session/new", { cwd: "/", mcpServers: [] });
    await client.prompt(String(elsewhere.sessionId), "three");
    assert.equal(await app.rules.revoke(rule?.id ?? 0), true);
    await client.prompt(sessionId, "four");
    const kinds = outcomes.map((one) => one.outcome === "selected" && one.kind);
    assert.deepEqual(kinds, ["allow_always", "allow_once", "reject_once", "reject_once"]);
    const by = (app.audit as { by: string }[]).map((entry) => entry.by);
    assert.deepEqual(by, ["test", `rule ${rule?.id}`, "test", "test"]);
  });
});
