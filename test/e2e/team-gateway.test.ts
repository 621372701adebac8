import assert from "node:assert/strict";
import { mkdtempDisposableSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { KEY } from "../agent/agent-editor.ts";
import { FakeLlm } from "../agent/fake-llm.ts";
import { Program } from "../support/program.ts";
import { readAudit } from "../support/read-audit.ts";
import { ServedGateway } from "../support/served-gateway.ts";
import { until } from "../support/until.ts";

const SERVER = join(import.meta.dirname, "../support/echo-server.mjs");

interface Result {
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly isError?: boolean;
}

/** A folder with a server, whose calls are recorded. */
class Place implements Disposable {
  readonly #folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-team-"));
  readonly path = realpathSync(this.#folder.path);
  readonly config = join(this.path, "config.jsonc");
  readonly data = join(this.path, "data");
  readonly told = join(this.path, "told");
  /** A hook that writes down what it is told. */
  readonly telling = { hooks: [{ command: `cat >> ${this.told}` }] };

  configure(more: object): void {
    const echo = { command: process.execPath, args: [SERVER, "echo", join(this.path, "calls")] };
    writeFileSync(this.config, JSON.stringify({ mcpServers: { echo }, ...more }));
  }

  /** The events that the hook was told of. */
  events(): string[] {
    const lines = readFileSync(this.told, "utf8").trim().split("\n");
    return lines.map((line) => {
      const { hook_event_name: event, tool_name: tool } = JSON.parse(line) as Record<
        string,
        string
      >;
      return `${event} ${tool}`;
    });
  }

  async run(args: readonly string[], env = {}): Promise<string> {
    const places = ["--config", this.config, "--data", this.data];
    await using program = new Program([...args, ...places], { cwd: this.path, env });
    program.child.stdin.end();
    assert.equal(await program.exit, 0, program.stderr);
    return program.lines.join("\n");
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}

describe("a gateway of a team", { timeout: 600_000 }, () => {
  it("changes tools, runs hooks for everybody, and keeps a large result for its caller", async () => {
    using place = new Place();
    const profiles = {
      team: {
        servers: { allow: ["echo"] },
        tools: {
          rename: { echo_do: "say" },
          change: {
            "echo/echo_do": {
              description: "Says it.",
              arguments: { wait: { hidden: true } },
              result: { most: 2_000 },
            },
          },
        },
      },
    };
    const PostToolUse = [place.telling, { hooks: [{ type: "mask" }] }];
    place.configure({ profiles, toolHooks: { PostToolUse } });
    await using gateway = await ServedGateway.start([
      ...["--config", place.config, "--data", place.data],
    ]);
    const bearer = async (name: string): Promise<Record<string, string>> => {
      const token = await place.run(["token", "create", name, "--profile", "team"]);
      return { authorization: `Bearer ${token.split("\n")[0]}` };
    };
    const [ann, bob] = [await bearer("ann"), await bearer("bob")];
    const { result: list } = await gateway.mcp(1, "tools/list", {}, ann);
    const { tools } = list as unknown as { tools: Record<string, unknown>[] };
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["say", "echo_read"],
    );
    assert.equal(tools[0]?.description, "Says it.");
    assert.ok(!JSON.stringify(tools[0]).includes("wait"));

    const say = async (args: object): Promise<Result> => {
      const { result } = await gateway.mcp(2, "tools/call", { name: "say", arguments: args }, ann);
      return result as unknown as Result;
    };
    const masked = await say({ message: "write to ann@example.org" });
    assert.match(String(masked.content[0]?.text), /^\d+ write to •••$/);
    const hidden = await say({ message: "x", wait: 1 });
    assert.match(String(hidden.content[0]?.text), /'wait' is not for callers to give/);

    const large = await say({ message: `secret ann@example.org ${"lorem ipsum ".repeat(1_000)}` });
    const [summary, link] = large.content;
    assert.match(String(summary?.text), /^The result has \d+ bytes, more than the 2000/);
    assert.ok(JSON.stringify(large).length < 2_500);
    const uri = String(link?.uri);
    const read = async (headers: Record<string, string>): Promise<Record<string, never>> =>
      gateway.mcp(3, "resources/read", { uri }, { ...headers, "mcp-name": uri });
    const { result } = await read(ann);
    const { contents } = result as unknown as { contents: { text: string }[] };
    assert.match(contents[0]?.text ?? "", /^\d+ secret ••• (?:lorem ipsum ){1000}$/);
    for (const other of [bob, gateway.headers]) {
      const { error } = await read(other);
      assert.match((error as unknown as { message: string }).message, /not found/i);
    }
    assert.deepEqual(new Set(place.events()), new Set(["PostToolUse mcp__echo__echo_do"]));

    // A changed configuration counts at once.
    place.configure({ profiles });
    await until(async () => {
      const { content } = await say({ message: "ann@example.org" });
      return String(content[0]?.text).endsWith(" ann@example.org");
    });
    const entries = await Array.fromAsync(readAudit(place.data));
    const hooked = entries.find(({ event, outcome }) => event === "hook" && outcome === "changed");
    assert.deepEqual(
      [hooked?.hook, hooked?.source, hooked?.command],
      ["PostToolUse", "gateway", "mask secrets, personal"],
    );
    assert.doesNotMatch(gateway.program.stderr, /ann@example\.org/);
  });

  it("runs a hook once for a call of the built-in agent that both of its lists have", async () => {
    await using llm = await FakeLlm.start([]);
    using place = new Place();
    const lists = { PreToolUse: [place.telling], PostToolUse: [place.telling] };
    place.configure({ models: { local: false }, hooks: lists, toolHooks: lists });
    llm.play([
      { toolCalls: [{ name: "echo_do", arguments: { message: "once" } }] },
      { content: "Done." },
    ]);
    const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${llm.url}/v1`, NO_COLOR: "1" };
    await place.run(["chat", "echo once", "--yes"], env);
    assert.deepEqual(place.events(), [
      "PreToolUse mcp__echo__echo_do",
      "PostToolUse mcp__echo__echo_do",
    ]);
    assert.equal(readFileSync(join(place.path, "calls"), "utf8"), "once\n");
  });
});
