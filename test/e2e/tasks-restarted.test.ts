import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { STDIO_SERVER } from "../conformance/fixture-server.ts";
import { Program } from "../support/program.ts";

interface Answer {
  readonly id: number;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly result: any;
  readonly error?: { readonly message: string };
}

/** An assistant that has started `trunkline mcp`, with a server behind it whose tools are tasks. */
class Assistant {
  readonly program: Program;
  #lastId = 0;

  constructor(data: string) {
    const server = `mcpServers.fixture=${JSON.stringify(STDIO_SERVER)}`;
    this.program = new Program(["mcp", "--data", data, "--set", server]);
  }

  async begin(): Promise<this> {
    const clientInfo = { name: "test", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    await this.ask("initialize", params);
    this.program.write({ jsonrpc: "2.0", method: "notifications/initialized" });
    // A list waits for a server for some seconds only.
    while (!JSON.stringify(await this.ask("tools/list")).includes("slow_compute"));
    return this;
  }

  async ask(method: string, params: object = {}): Promise<Answer> {
    const id = ++this.#lastId;
    this.program.write({ jsonrpc: "2.0", id, method, params });
    const answers = (): Answer[] => this.program.lines.map((line) => JSON.parse(line) as Answer);
    await this.program.until(() => answers().some((answer) => answer.id === id));
    return answers().find((answer) => answer.id === id) as Answer;
  }

  async task(seconds: number): Promise<string> {
    const params = { name: "slow_compute", arguments: { seconds, label: "tides" }, task: {} };
    const { result } = await this.ask("tools/call", params);
    return String(result.task.taskId);
  }
}

describe("tasks of trunkline mcp, when it is killed and restarted", { timeout: 600_000 }, () => {
  it("have their results, or have failed with a message", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-tasks-"));
    let done: string;
    let working: string;
    {
      const assistant = new Assistant(folder.path);
      await using program = assistant.program;
      await assistant.begin();
      done = await assistant.task(0.05);
      working = await assistant.task(60);
      await assistant.ask("tasks/result", { taskId: done });
      program.child.kill("SIGKILL");
      await program.exit;
    }
    const assistant = new Assistant(folder.path);
    await using program = assistant.program;
    await assistant.begin();
    const finished = await assistant.ask("tasks/result", { taskId: done });
    assert.equal(finished.result.content[0].text, "computed tides");
    const interrupted = await assistant.ask("tasks/get", { taskId: working });
    assert.equal(interrupted.result.status, "failed");
    assert.match(interrupted.result.statusMessage, /restarted while the task was working/);
    const { error } = await assistant.ask("tasks/result", { taskId: working });
    assert.match(error?.message ?? "", /Call the tool again/);
    program.child.stdin.end();
    await program.exit;
  });
});
