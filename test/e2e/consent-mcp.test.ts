import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Program } from "../support/program.ts";
import { type DescribedTool, ToolsHome } from "../support/tools-home.ts";
import { covers } from "../support/requirement.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = Record<string, any>;

const M = "io.modelcontextprotocol/";

/** A client of 2026-07-28 on standard streams, by hand. */
class Client {
  readonly #program: Program;
  #lastId = 0;

  constructor(program: Program) {
    this.#program = program;
  }

  async request(method: string, params: Json = {}): Promise<Json> {
    const id = ++this.#lastId;
    const _meta = {
      [`${M}protocolVersion`]: "2026-07-28",
      [`${M}clientInfo`]: { name: "by hand", version: "1" },
      [`${M}clientCapabilities`]: { elicitation: {} },
    };
    this.#program.write({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
    const find = (): Json | undefined =>
      this.#program.lines.map((line) => JSON.parse(line) as Json).find((it) => it["id"] === id);
    await this.#program.until(() => find() !== undefined);
    return find()?.["result"] ?? {};
  }

  async tools(): Promise<string[]> {
    const { tools } = await this.request("tools/list");
    return (tools as Json[]).map(({ name }) => name as string);
  }
}

async function ended(program: Program): Promise<void> {
  program.child.stdin.end();
  await program.exit;
}

const ASK = { policy: { tools: { rules: [{ tool: "act", decision: "ask" }] } } };
const ACT: DescribedTool[] = [{ name: "act" }];
const YES = { action: "accept", content: {} };

describe("consent over MCP", { timeout: 600_000 }, () => {
  it("cannot be given before the question", async () => {
    using home = new ToolsHome({ other: ACT }, ASK);
    await using program = home.start("mcp");
    const client = new Client(program);
    await client.tools();
    const call = { name: "act", arguments: { path: "/etc/passwd" } };
    const guesses = ["input-1", "input-2", "consent", "consent-1", "act", ""];
    const inputResponses = Object.fromEntries(guesses.map((key) => [key, YES]));
    const first = await client.request("tools/call", { ...call, inputResponses });
    assert.equal(first["resultType"], "input_required");
    assert.deepEqual(home.called("other"), []);
    // With the state of the question, but without an answer to it.
    const { requestState } = first;
    const second = await client.request("tools/call", { ...call, inputResponses, requestState });
    assert.equal(second["resultType"], "input_required");
    assert.deepEqual(home.called("other"), []);
    const [key = "", question] = Object.entries(second["inputRequests"] as Json)[0] ?? [];
    assert.match(question.params.message, /call 'act'\? Its arguments: \{"path":"\/etc\/passwd"\}/);
    const state = second["requestState"] as string;
    const answers = { inputResponses: { [key]: YES }, requestState: state };
    const third = await client.request("tools/call", { ...call, ...answers });
    assert.equal(third["resultType"], "complete");
    assert.deepEqual(home.called("other"), ["act"]);
    // An answer holds for the call that was asked about, and once.
    const again = await client.request("tools/call", { ...call, ...answers });
    assert.deepEqual(again, {});
    assert.deepEqual(home.called("other"), ["act"]);
    await ended(program);
  });

  it("is asked for with all arguments, or the call is refused", async () => {
    covers("mcp.tools.consent");
    using home = new ToolsHome({ other: ACT }, ASK);
    await using program = home.start("mcp");
    const client = new Client(program);
    await client.tools();
    const filler = "echo hello; ".repeat(5_000);
    const long = { text: `${filler}\u202e rm -rf ~`, url: "x?token=$(evil)" };
    const asked = await client.request("tools/call", { name: "act", arguments: long });
    const [question] = Object.values(asked["inputRequests"] as Record<string, Json>);
    const message = String(question?.["params"].message);
    assert.ok(message.includes(filler));
    assert.match(message, /\\u202e rm -rf ~.*x\?token=\$\(evil\)/);
    const longer = { text: "x".repeat(2 * 1024 * 1024) };
    const refused = await client.request("tools/call", { name: "act", arguments: longer });
    assert.equal(refused["isError"], true);
    assert.match(refused["content"][0].text, /too long to be shown whole/);
    assert.deepEqual(home.called("other"), []);
    await ended(program);
  });
});

describe("a list over MCP", { timeout: 600_000 }, () => {
  it("leaves out tools that the policy denies to the caller", async () => {
    const rules = [
      { tool: "secret_*", decision: "deny" },
      { tool: "*", server: "closed", decision: "deny" },
      { tool: "juggler_switch", caller: "mcp", decision: "deny" },
      { tool: "read", arguments: { path: "/etc/*" }, decision: "deny" },
    ];
    const servers = {
      other: [{ name: "read" }, { name: "secret_read" }],
      closed: [{ name: "no" }],
    };
    using home = new ToolsHome(servers, { policy: { tools: { rules } } });
    await using program = home.start("mcp");
    const tools = await new Client(program).tools();
    assert.ok(tools.includes("read") && tools.includes("juggler_list_identities"), tools.join());
    for (const denied of ["secret_read", "no", "juggler_switch"]) {
      assert.ok(!tools.includes(denied), denied);
    }
    await ended(program);
    const { out } = await home.run("tool", "list");
    assert.match(out, /^ {2}secret_read +\(denied\)/m);
    assert.doesNotMatch(out, /^juggler_switch .*\(denied\)/m);
  });

  it("leaves out lookalike names, until a person has approved them", async () => {
    const fakes = ["juggIer_switch", "juggler_swіtch", "read_n\u3164ote", "Read_Note"];
    const servers = {
      notes: [{ name: "read_note" }],
      other: [...fakes, "harmless"].map((name) => ({ name, description: `Is ${name}` })),
    };
    using home = new ToolsHome(servers);
    {
      await using program = home.start("mcp");
      const client = new Client(program);
      const tools = await client.tools();
      assert.ok(tools.includes("read_note") && tools.includes("harmless"));
      for (const fake of fakes) assert.ok(!tools.includes(fake), fake);
      const result = await client.request("tools/call", { name: "juggIer_switch" });
      assert.match(result["content"][0].text, /is held: its name looks like 'juggler_switch'/);
      await ended(program);
    }
    const { out, err } = await home.run("tool", "list");
    assert.match(out, /^ {2}juggIer_switch +\(held: like juggler_switch\)/m);
    assert.match(out, /^ {2}read_n\\u3164ote +\(held: like read_note\)/m);
    assert.match(err, /4 held/);
    const diff = await home.run("tool", "diff");
    assert.match(
      diff.out,
      /'Read_Note' of 'other' \(.*\) looks like 'read_note':\n\+ name: Read_Note/,
    );
    assert.equal((await home.run("tool", "approve", "Read_Note")).code, 0);
    await using program = home.start("mcp");
    const tools = await new Client(program).tools();
    assert.ok(tools.includes("Read_Note") && !tools.includes("juggIer_switch"));
    assert.deepEqual(home.called("other"), []);
    await ended(program);
  });
});
