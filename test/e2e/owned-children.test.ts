// Long: programs are killed with what they started.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { processOf } from "../../src/base/process/process-table.ts";
import { AgentEditor } from "../agent/agent-editor.ts";
import { FakeLlm } from "../agent/fake-llm.ts";
import { BusHome } from "../support/bus-home.ts";
import { Program } from "../support/program.ts";
import { until } from "../support/until.ts";

const SUPPORT = join(import.meta.dirname, "../support");
const skip =
  process.platform === "linux" ? false : "only Linux shows whose a process is that left its group";

/** A process that a program leaves behind: in a session of its own, with nobody as its parent. */
class LeftBehind implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "trunkline-left-"));
  readonly #file = join(this.#folder, "pid");

  /** A line for a shell that starts it. */
  get line(): string {
    const file = `'${this.#file}'`;
    return `(setsid sleep 1000 >/dev/null 2>&1 & echo $! >${file}.new; mv ${file}.new ${file})`;
  }

  /** A command that starts it and goes on as another. */
  before(command: string, ...args: string[]): { command: string; args: string[] } {
    return { command: "/bin/sh", args: ["-c", `${this.line}; exec "$@"`, "sh", command, ...args] };
  }

  async started(): Promise<void> {
    await until(() => existsSync(this.#file));
  }

  async gone(): Promise<void> {
    await until(() => processOf(this.#pid) === undefined);
  }

  get #pid(): number {
    return Number(readFileSync(this.#file, "utf8"));
  }

  [Symbol.dispose](): void {
    if (existsSync(this.#file) && processOf(this.#pid) !== undefined) process.kill(this.#pid, 9);
    rmSync(this.#folder, { recursive: true });
  }
}

describe("what a child of Trunkline leaves behind", { skip, timeout: 600_000 }, () => {
  const agentOf = (left: LeftBehind): object => ({
    agent: "other",
    agents: { other: left.before(process.execPath, join(SUPPORT, "acp-agent.mjs")) },
  });

  it("ends with an agent, when the editor leaves", async () => {
    using left = new LeftBehind();
    {
      await using editor = await AgentEditor.open({ config: agentOf(left) });
      await editor.say(editor.id, "echo hello");
      await left.started();
    }
    await left.gone();
  });

  it("ends with an agent that crashes, while Trunkline goes on", async () => {
    using left = new LeftBehind();
    await using editor = await AgentEditor.open({ config: agentOf(left) });
    await left.started();
    await editor.say(editor.id, "crash").catch(() => undefined);
    await left.gone();
  });

  it("ends with an agent when Trunkline is killed", async () => {
    using left = new LeftBehind();
    await using editor = await AgentEditor.open({ config: agentOf(left) });
    await left.started();
    // It is started again, but not the agent.
    await editor.killed();
    await left.gone();
  });

  it("ends with the terminal of an agent", async () => {
    using left = new LeftBehind();
    const config = {
      agent: "other",
      agents: { other: { command: process.execPath, args: [join(SUPPORT, "acp-agent.mjs")] } },
    };
    await using editor = await AgentEditor.open({ config });
    await editor.say(editor.id, `run wait|sh|-c|${left.line}; echo done`);
    await left.started();
    await left.gone();
  });

  it("ends with a command of the built-in agent, without a sandbox that would do it", async () => {
    using left = new LeftBehind();
    const command = `${left.line}; echo done`;
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "run_command", arguments: { command } }] },
      { content: "Done." },
    ]);
    const config = { agent: { sandbox: "off" } };
    await using editor = await AgentEditor.open({ llm, config });
    await editor.say(editor.id, "go");
    await left.started();
    await left.gone();
  });

  for (const end of ["when its input ends", "when it is killed"] as const) {
    it(`ends with another MCP server of 'trunkline mcp', ${end}`, async () => {
      using left = new LeftBehind();
      const folder = mkdtempSync(join(tmpdir(), "trunkline-owned-"));
      const record = join(folder, "record");
      const server = left.before(
        process.execPath,
        join(SUPPORT, "echo-server.mjs"),
        "echo",
        record,
      );
      const config = join(folder, "config.jsonc");
      writeFileSync(config, JSON.stringify({ mcpServers: { echo: server } }));
      {
        const data = join(folder, "data");
        await using program = new Program(["mcp", "--config", config, "--data", data]);
        const params = {
          protocolVersion: "2025-11-25",
          capabilities: {},
          clientInfo: { name: "test", version: "1" },
        };
        program.write({ jsonrpc: "2.0", id: 1, method: "initialize", params });
        program.write({ jsonrpc: "2.0", method: "notifications/initialized" });
        program.write({ jsonrpc: "2.0", id: 2, method: "tools/list" });
        await left.started();
        if (end === "when it is killed") program.child.kill("SIGKILL");
        else program.child.stdin.end();
        await program.exit;
        await left.gone();
      }
      rmSync(folder, { recursive: true });
    });
  }

  it("ends with a plugin, when the orchestrator ends", async () => {
    using left = new LeftBehind();
    {
      await using home = new BusHome();
      const { binary, args = [], ...plugin } = home.testPlugin();
      const { command, args: words } = left.before(binary, ...args);
      await home.orchestrator([{ ...plugin, binary: command, args: words }]);
      await left.started();
    }
    await left.gone();
  });
});
