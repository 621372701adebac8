import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AcpEditor, Place } from "../support/acp-editor.ts";
import type { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const CONFIG = {
  agent: "other",
  agents: { other: { command: process.execPath, args: [AGENT, "--loads"] } },
};

/** Runs a program as containers do: with a host name of its own, and as its process number 1. */
function container(host: string): readonly string[] {
  return [
    ...["unshare", "--user", "--map-root-user", "--uts", "--pid", "--fork", "--kill-child"],
    ...["sh", "-c", 'hostname "$1" && shift && exec "$@"', "sh", host],
  ];
}

function missing(): string | undefined {
  const why = "unshare(1) of util-linux may not make user namespaces here";
  return spawnSync("env", [...container("x"), "true"]).status === 0 ? undefined : why;
}

/** A program that has no time to let go of anything. */
class Killed implements AsyncDisposable {
  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#program.child.kill("SIGKILL");
    await this.#program.exit;
    await this.#program[Symbol.asyncDispose]();
  }
}

describe("a session in two containers", { timeout: 600_000 }, () => {
  it("belongs to its holder, and to the other as soon as that is killed", async (test) => {
    const why = missing();
    if (why !== undefined) return test.skip(why);
    using place = new Place();
    const args = ["--data", join(place.path, "data")];
    const open = (host: string) =>
      new AcpEditor(place, { config: CONFIG, args, within: container(host) });
    const load = { cwd: place.folder, mcpServers: [] };
    await using other = open("two");
    await other.hello();
    let sessionId: string;
    {
      const first = open("one");
      await using _killed = new Killed(first.program);
      sessionId = await first.begin();
      await first.prompt(sessionId, "say hello");
      await other.ask("session/load", { sessionId, ...load });
      assert.equal(other.text(), "hello");
      await first.prompt(sessionId, "say and good bye");
    }
    await other.program.until(() => other.text().length > "hello".length);
    assert.match(other.text(), /^helloand good bye/);
    assert.equal((await other.prompt(sessionId, "say again")).stopReason, "end_turn");
  });
});
