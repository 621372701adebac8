import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { CommandSandbox } from "./files/command-sandbox.ts";
import { DrivenAgent } from "../../test/agent/driven-agent.ts";

async function untilGone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("the terminals of an external agent", { timeout: 600_000 }, () => {
  it("run here if the editor has no terminals, and are shown as text", async () => {
    await using driven = await DrivenAgent.open();
    const line = "wait|echo one; echo two >&2; pwd; exit 3";
    const { exit, output, after } = JSON.parse(await driven.say(`run ${line}`));
    assert.deepEqual(exit, { exitCode: 3 });
    const { folder } = driven;
    assert.deepEqual(output, {
      output: `one\ntwo\n${folder}\n`,
      truncated: false,
      exitStatus: { exitCode: 3 },
    });
    assert.equal(after, -32602, "a terminal that was released is no longer there");
    assert.equal(driven.shown.type, "content");
    assert.match(driven.shown.content.text, /one\ntwo\n.*\n\(exit code 3\)/);
    const told = driven.client.messages.filter(({ method }) => String(method).startsWith("term"));
    assert.deepEqual(told, []);
    const words = JSON.parse(await driven.say("run wait|printf|%s-%s|a b|$HOME"));
    assert.equal(words.output.output, "a b-$HOME");
  });

  it("can be killed, with everything they started", async () => {
    await using driven = await DrivenAgent.open();
    const { exit } = JSON.parse(await driven.say("run kill|sleep 1000 & sleep 1000"));
    assert.deepEqual(exit, { exitCode: null, signal: "SIGKILL" });
  });

  it("end with the session", async () => {
    await using driven = await DrivenAgent.open();
    const file = join(driven.folder, "pid");
    await driven.say(`run leave|echo $$ > ${file}.tmp; mv ${file}.tmp ${file}; exec sleep 1000`);
    let pid = 0;
    while (pid === 0) {
      try {
        pid = Number(readFileSync(file, "utf8"));
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
    await driven.client.ask("session/close", { sessionId: driven.sessionId });
    await untilGone(pid);
  });

  it("run in the sandbox if there is one, and not in the editor", async () => {
    let count = 0;
    const sandbox = (): CommandSandbox => ({
      mayBeLeft: false,
      isThere: async () => true,
      enter: async () => ({
        // Stands for a real one, and shows that the command went through it.
        confine: ({ env, ...program }) => ({ ...program, env: { ...env, WHERE: "inside" } }),
        refused: new Map(),
        isShown: () => true,
        notes: [],
        limits: [],
        [Symbol.asyncDispose]: async () => {
          count++;
        },
      }),
      [Symbol.asyncDispose]: async () => {
        count++;
      },
    });
    {
      await using driven = await DrivenAgent.open({ terminal: true }, { sandbox });
      const { output } = JSON.parse(await driven.say("run wait|echo $WHERE"));
      assert.equal(output.output, "inside\n");
      assert.ok(!driven.client.messages.some(({ method }) => method === "terminal/create"));
    }
    assert.equal(count, 2, "the command has left it, and it was closed");
  });

  it("run in the editor if it has terminals", async () => {
    await using driven = await DrivenAgent.open({ terminal: true });
    const results: Record<string, object> = {
      "terminal/create": { terminalId: "editor-1" },
      "terminal/wait_for_exit": { exitCode: 0, signal: null },
      "terminal/output": { output: "from the editor", truncated: true },
      "terminal/release": {},
    };
    driven.client.answer = ({ method }) => ({ result: results[String(method)] });
    const { output } = JSON.parse(await driven.say("run wait|make|all"));
    assert.deepEqual(output, results["terminal/output"]);
    assert.deepEqual(driven.shown, { type: "terminal", terminalId: "editor-1" });
    const { params } = await driven.client.request("terminal/create");
    const { sessionId, folder: cwd } = driven;
    assert.deepEqual(params, { sessionId, command: "make", args: ["all"], cwd });
  });
});
