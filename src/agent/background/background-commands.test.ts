import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { until } from "../../../test/support/until.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm, type Scripted } from "../../../test/agent/fake-llm.ts";
import { REJECT, type SampleTurnOptions } from "../../../test/agent/sample-turn.ts";
import type { HostConsent, CommandSandbox } from "../files/command-sandbox.ts";
import { BackgroundCommands } from "./background-commands.ts";

/** Stands for a server: writes its process id, and then nothing more. */
const SERVER = "echo listening; echo $$ > pid; exec sleep 600";

const run = (command: string): Scripted => ({
  toolCalls: [{ name: "run_command", arguments: { command, background: true } }],
});
const output = (more: object): Scripted => ({
  toolCalls: [{ name: "command_output", arguments: more }],
});
const stop = (id: string): Scripted => ({
  toolCalls: [{ name: "stop_command", arguments: { id } }],
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** What the command wrote to its file. */
async function wordIn(rig: AgentRig): Promise<string> {
  const file = join(rig.cwd, "pid");
  await until(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"));
  return readFileSync(file, "utf8").trim();
}

async function pidIn(rig: AgentRig): Promise<number> {
  return Number(await wordIn(rig));
}

/** A session whose model answers with these, and what the model was told at the end of each turn. */
async function rigFor(script: readonly Scripted[], options = {}) {
  const llm = await FakeLlm.start(script);
  const rig = new AgentRig({ llm, ...options });
  const session = await rig.open();
  const turn = (more: Partial<SampleTurnOptions> = {}) =>
    rig.turnOf(session, { prompt: "go", ...more });
  return {
    llm,
    rig,
    session,
    turn,
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]();
      await llm[Symbol.asyncDispose]();
    },
  };
}

describe("a command in the background", () => {
  it("goes on after its turn, is read in the next one, and ends with the session", async () => {
    await using at = await rigFor([
      run(SERVER),
      { content: "It runs." },
      output({ id: "1" }),
      { content: "Fine." },
    ]);
    const { turn } = await at.turn();
    assert.deepEqual(turn.asked[0]?.subject, {
      action: "run",
      command: SERVER,
      folder: ".",
      sandbox: "none",
    });
    const pid = await pidIn(at.rig);
    assert.ok(isAlive(pid));
    await at.turn();
    assert.match(at.llm.seen(3), /\(running\)/);
    assert.match(at.llm.seen(3), /tool: .*listening/s);
    assert.match(at.llm.seen(1), /It runs in the background as '1'/);
    assert.match(at.llm.seen(2), /Commands that run in the background: 1 \(echo/);
    await at.session[Symbol.asyncDispose]();
    assert.ok(!isAlive(pid));
  });

  it("is not started if the person does not allow it, and not in a mode without commands", async () => {
    await using at = await rigFor([
      run(SERVER),
      { content: "No." },
      run(SERVER),
      { content: "No." },
    ]);
    const { turn } = await at.turn({ decide: () => REJECT });
    assert.deepEqual(turn.ends, ["failed"]);
    await at.session.setMode?.("ask");
    assert.deepEqual((await at.turn()).turn.ends, ["failed"]);
    assert.ok(!existsSync(join(at.rig.cwd, "pid")));
  });

  it("has its tools offered only once it is there", async () => {
    await using at = await rigFor([run("true"), { content: "Done." }]);
    await at.turn();
    const [before, after] = at.llm.requests.map(({ tools = [] }) => JSON.stringify(tools));
    assert.doesNotMatch(before ?? "", /command_output|stop_command/);
    assert.match(after ?? "", /command_output.*stop_command/);
  });

  it("tells the model that it failed, and how", async () => {
    const wait = output({ id: "1", wait_ms: 60_000 });
    // The first may return with the text alone.
    const script = [run("echo 'no such port' >&2; exit 3"), wait, wait, { content: "Oh." }];
    await using at = await rigFor(script);
    await at.turn();
    assert.match(at.llm.seen(3), /tool: .*no such port/s);
    assert.match(at.llm.seen(3), /exit code 3/);
  });

  it("is stopped with all that it started, by the model and by `/background`", async () => {
    await using at = await rigFor([
      run(`${SERVER} & ${SERVER}`),
      stop("1"),
      run(SERVER),
      { content: "Done." },
    ]);
    await at.turn();
    assert.match(at.llm.seen(2), /\(stopped\)/);
    const { turn: listed } = await at.rig.turnOf(at.session, "/background");
    assert.match(listed.text, /1: .*\(stopped\)\n2: echo listening.*\(running\)/);
    const { turn: wrong } = await at.rig.turnOf(at.session, "/background stop 9");
    assert.match(wrong.text, /no command '9' in the background\. There are: 1, 2\./);
    const { turn: stopped } = await at.rig.turnOf(at.session, "/background stop 2");
    assert.match(stopped.text, /Stopped `echo/);
    assert.ok(!isAlive(await pidIn(at.rig)));
  });

  it("ends when the owner's access is revoked", async () => {
    await using llm = await FakeLlm.start([run(SERVER), { content: "Done." }]);
    await using rig = new AgentRig({ llm });
    const revoked = new AbortController();
    const session = await rig.open({ revoked: revoked.signal });
    await rig.turnOf(session, "go");
    const pid = await pidIn(rig);
    revoked.abort(new Error("revoked"));
    await until(() => !isAlive(pid));
    assert.ok(!isAlive(pid));
  });

  it("goes on when the turn that started it is cancelled", async () => {
    await using at = await rigFor([run(SERVER), { content: "Never.", latency: 30_000 }]);
    const { end } = await at.turn({
      onUpdate: (update, turn) => {
        if (update.sessionUpdate === "tool_call_update" && update.status === "completed") {
          turn.cancel();
        }
      },
    });
    assert.equal(end.stopReason, "cancelled");
    assert.ok(isAlive(await pidIn(at.rig)));
  });

  it("keeps a bounded part of endless output", async () => {
    await using at = await rigFor([
      run("yes filler | head -c 3000000; echo last; touch done; exec sleep 600"),
      output({ id: "1", wait_ms: 10_000 }),
      { content: "Done." },
      output({ id: "1" }),
      { content: "Done." },
    ]);
    await at.turn();
    await until(() => existsSync(join(at.rig.cwd, "done")));
    await at.turn();
    const answers = (at.llm.requests.at(-1)?.messages ?? []).filter(({ role }) => role === "tool");
    for (const { content } of answers) assert.ok(String(content).length < 70_000);
  });
});

describe("a command in the background of a sandbox", () => {
  /** Stands for a real one, whose hosts the test asks about. */
  function sandbox(asks: HostConsent[]): () => CommandSandbox {
    return () => ({
      mayBeLeft: true,
      isThere: async () => true,
      enter: async (ask) => {
        if (ask !== undefined) asks.push(ask);
        return {
          confine: (program) => ({ ...program, env: { ...program.env, WHERE: "inside" } }),
          refused: new Map([["x.example", "'x.example' is not allowed"]]),
          isShown: () => true,
          notes: [],
          limits: [],
          [Symbol.asyncDispose]: async () => void asks.pop(),
        };
      },
      [Symbol.asyncDispose]: async () => assert.equal(asks.length, 0, "left before the command"),
    });
  }

  it("runs there, and nobody is asked about its hosts while no turn runs", async () => {
    const asks: HostConsent[] = [];
    const script = [run("echo $WHERE > pid; exec sleep 600"), { content: "Done." }];
    await using at = await rigFor(script, { sandbox: sandbox(asks) });
    let during: boolean | undefined;
    const { turn } = await at.turn({
      onUpdate: async (update) => {
        if (update.status === "completed") during = await asks[0]?.("x.example");
      },
    });
    assert.equal(during, true);
    assert.deepEqual(turn.asked.at(-1)?.subject, { action: "connect", host: "x.example" });
    assert.equal(await wordIn(at.rig), "inside");
    assert.match(at.llm.seen(1), /The sandbox refused a connection: 'x\.example'/);
    await assert.rejects(asks[0]?.("y.example") ?? Promise.resolve(), /no turn is running/);
  });
});

describe("BackgroundCommands", () => {
  it("lets no more run than it may, and nothing after its end", async () => {
    await using commands = new BackgroundCommands();
    const line = { line: "exec sleep 600", cwd: "/", identity: undefined, confinement: undefined };
    for (let count = 0; count < 8; count++) commands.start(line);
    assert.throws(() => commands.start(line), /8 are running \(1, 2, 3.*Stop one first/);
    await commands.find("3").stop();
    assert.equal(commands.start(line).id, "9");
    await commands[Symbol.asyncDispose]();
    assert.ok(commands.all.every(({ state }) => state === "stopped"));
    assert.throws(() => commands.start(line), /session is over/);
  });

  it("forgets commands that ended long ago", async () => {
    await using commands = new BackgroundCommands();
    const line = { line: "true", cwd: "/", identity: undefined, confinement: undefined };
    for (let round = 0; round < 2; round++) {
      const started = Array.from({ length: 8 }, () => commands.start(line));
      await Promise.all(started.map(({ over }) => over));
    }
    await commands.start(line).over;
    assert.deepEqual([commands.all.length, commands.all[0]?.id], [9, "9"]);
    assert.equal(commands.find("17").state, "exit code 0");
  });
});
