import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { FakeLlm, type Scripted } from "../agent/fake-llm.ts";
import { TASKS } from "../eval/tasks.ts";

const COMMAND = join(import.meta.dirname, "../eval/real-model.ts");

/** The evaluation as a person runs it who has a key: of the task with this name. */
async function evaluated(task: string, script: readonly Scripted[]) {
  const home = mkdtempSync(join(tmpdir(), "trunkline-evaluation-"));
  await using llm = await FakeLlm.start(script);
  try {
    const { PATH = "", TMPDIR = tmpdir() } = process.env;
    const env = { PATH, TMPDIR, HOME: home, OPENAI_API_KEY: "k".repeat(20) };
    const child = spawn(process.execPath, [COMMAND, task], {
      env: { ...env, OPENAI_BASE_URL: `${llm.url}/v1` },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [said, complaint] = await Promise.all([text(child.stdout), text(child.stderr)]);
    if (child.exitCode === null) await once(child, "exit");
    return { said, complaint, code: child.exitCode };
  } finally {
    rmSync(home, { recursive: true });
  }
}

describe(
  "the evaluation with a real model, here with a scripted one of a provider",
  { timeout: 600_000 },
  () => {
    const task = TASKS[0];
    const done: Scripted = {
      content: "Done.",
      usage: { prompt_tokens: 90, completion_tokens: 10 },
    };

    it("does a task by one command, and prints the row of the table", async () => {
      const answers = (task?.script ?? []).map((toolCalls) => ({ toolCalls }));
      const { said, complaint, code } = await evaluated(task?.name ?? "", [...answers, done]);
      assert.match(
        said,
        new RegExp(`^\\| ${task?.name} \\| yes \\| \\d+ \\| \\d+ \\|  \\|$`, "m"),
        complaint,
      );
      assert.match(said, /^1 of 1 solved/m);
      assert.match(said, /^\| openai\/\S+ \| 1 \| [1-9]\d* \| \d{4}-\d\d-\d\d \|$/m);
      assert.equal(code, 0);
    });

    it("says what is wrong with a result, and fails", async () => {
      const { said, code } = await evaluated(task?.name ?? "", [done]);
      assert.match(said, /\| no \|.*\| changed are , and not /);
      assert.match(said, /^0 of 1 solved/m);
      assert.equal(code, 1);
    });
  },
);
