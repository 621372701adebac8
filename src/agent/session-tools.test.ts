import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../test/agent/fake-llm.ts";
import { selfCommand } from "../base/process/self-command.ts";
import { Offer } from "../tool/offer/offer.ts";
import { Profiles } from "../tool/profile/profiles.ts";
import { textResult } from "../tool/tool.ts";

const SERVER = join(import.meta.dirname, "../../test/support/echo-server.mjs");

describe("the MCP servers of a session", () => {
  it("give the model their tools; a server that cannot start is reported and causes no delay", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "echo_read", arguments: { message: "hello" } }] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, realServers: true });
    const args = [SERVER, "echo", join(rig.folder, "record")];
    const session = await rig.open({
      mcpServers: [
        { name: "dead", command: "/no/such/program", args: [], env: [] },
        { name: "echo", command: process.execPath, args, env: [] },
      ],
    });
    const { turn } = await rig.turnOf(session, "go");
    assert.deepEqual(turn.ends, ["completed"]);
    assert.match(llm.seen(1), /tool: \d+ hello/);
    assert.equal(turn.asked.length, 1, "that it only reads is its own word");
    const { toolCall, options, subject } = turn.asked[0] ?? {};
    assert.equal(toolCall?.title, "Call 'echo_read' of the session's server 'echo'");
    assert.match(JSON.stringify(toolCall?.content), /message.*hello/);
    assert.deepEqual(subject, {
      action: "call",
      tool: "echo_read",
      server: "echo",
      isBrought: true,
    });
    const always = options?.find(({ kind }) => kind === "allow_always");
    assert.equal(
      always?.name,
      `Always allow in ${rig.cwd}: every call of 'echo_read' of the session's server 'echo', ` +
        "whatever its arguments",
    );
    assert.match(turn.notices, /'dead' is not there.*no such program/);
    assert.doesNotMatch(turn.notices, /'echo'/);
  });

  it("do not include Trunkline itself, whose tools the model has already", async () => {
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using rig = new AgentRig({ llm });
    const [command, ...args] = selfCommand();
    const server = { name: "trunkline", command, args: [...args, "mcp"], env: [] };
    const session = await rig.open({ mcpServers: [server] });
    const { turn } = await rig.turnOf(session, "go");
    assert.doesNotMatch(turn.notices, /trunkline/);
  });

  it("are reported as unused if nothing can start them", async () => {
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open({ mcpServers: [{ name: "some", command: "x" }] });
    const { turn } = await rig.turnOf(session, "go");
    assert.match(turn.notices, /cannot be used some/);
  });
});

describe("the toolbox", () => {
  it("reports once which servers' tools the model is not offered, because they are unknown yet", async () => {
    const offer = new Offer();
    const why = "MCP server 'slow' is still starting, after 5 s";
    offer.waitFor({ known: () => undefined, missing: () => [{ name: "slow", why }] });
    await using llm = await FakeLlm.start([{ content: "Hi." }, { content: "Still here." }]);
    await using rig = new AgentRig({ llm, offer: async () => offer });
    const session = await rig.open();
    const first = await rig.turnOf(session, "go");
    assert.match(first.turn.notices, /The tools of 'slow' are left out for now.*still starting/);
    const second = await rig.turnOf(session, "go on");
    assert.doesNotMatch(second.turn.notices, /slow/);
  });

  it("offers the model only tools that the prompting person may call", async () => {
    const offer = new Offer();
    const inputSchema = { type: "object" };
    offer.tools.add({ definition: { name: "dig", inputSchema }, call: () => textResult("Gold") });
    await using llm = await FakeLlm.start([
      { content: "Hi." },
      { toolCalls: [{ name: "dig", arguments: {} }] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, offer: async () => offer });
    const session = await rig.open();
    await rig.turnOf(session, "go");
    assert.ok(llm.tools.includes("dig"));
    const principal = { id: "token 1", name: "ci", scopes: ["sessions"] } as const;
    const { turn } = await rig.turnOf(session, { prompt: "go on", principal });
    assert.ok(!llm.tools.includes("dig"));
    assert.deepEqual(turn.ends, ["failed"]);
  });

  it("shows the model what the agent's profile shows, under its names, and never has it search", async () => {
    const offer = new Offer();
    const inputSchema = { type: "object" };
    for (const name of ["dig", "fill", "call_tool"]) {
      offer.tools.add({
        definition: { name, inputSchema },
        source: { server: "ground", name },
        call: () => textResult(`${name} was called`),
      });
    }
    offer.profiles = new Profiles({
      others: { for: { doors: ["mcp"] } },
      ours: {
        for: { doors: ["agent"], clients: ["built-in agent"], projects: ["/"] },
        tools: { deny: ["fill"], rename: { dig: "excavate" } },
        search: true,
      },
    });
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "excavate", arguments: {} }] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, offer: async () => offer });
    const { turn } = await rig.turnOf(await rig.open(), "dig, fill, call");
    assert.match(llm.seen(1), /tool: .*dig was called/);
    assert.deepEqual(turn.asked[0]?.subject, { action: "call", tool: "dig", server: "ground" });
    const hidden = ["dig", "fill", "search_tools"].filter((name) => llm.tools.includes(name));
    assert.deepEqual(hidden, []);
    // A call of that name would be one of any tool, with the permission for this one.
    assert.ok(!llm.tools.includes("call_tool"));
  });
});
