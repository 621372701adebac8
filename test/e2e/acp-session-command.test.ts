import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { WebSocket } from "ws";

import { readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";
import { type Ran, runInProcess } from "../support/run-in-process.ts";
import { until } from "../support/until.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");

class Home implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-session-"));

  constructor() {
    const other = { command: process.execPath, args: [AGENT] };
    writeFileSync(
      join(this.path, "config.jsonc"),
      JSON.stringify({ agent: "other", agents: { other } }),
    );
  }

  start(...args: string[]): Program {
    return new Program([...args, ...this.#where]);
  }

  /** Runs a command to its end. */
  async run(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
    await using program = this.start(...args);
    program.child.stdin.end();
    const code = await program.exit;
    return { code, out: program.lines.join("\n"), err: program.stderr };
  }

  /** The same in this process, which is far quicker. */
  runInProcess(...args: string[]): Promise<Ran> {
    const { PATH = "" } = process.env;
    const place = { env: { PATH, HOME: this.path }, cwd: this.path };
    return runInProcess([...args, ...this.#where], place);
  }

  get #where(): string[] {
    return ["--config", join(this.path, "config.jsonc"), "--data", join(this.path, "data")];
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

describe("trunkline session", { timeout: 600_000 }, () => {
  it("lists, joins, replays, exports and deletes a conversation", async () => {
    using home = new Home();
    assert.match((await home.runInProcess("session", "list")).err, /There are no sessions/);
    let id = "";
    {
      await using editor = home.start("acp");
      const params = { cwd: home.path, mcpServers: [] };
      editor.write({ jsonrpc: "2.0", id: 1, method: "session/new", params });
      const [created] = await editor.answers(1);
      id = String(created?.result?.["sessionId"]);
      const held = await home.run("session", "delete", id);
      assert.equal(held.code, 1);
      assert.match(held.err, /is open in another Trunkline \(process \d+/);
      editor.child.stdin.end();
      assert.equal(await editor.exit, 0);
    }
    {
      await using person = home.start("session", "attach", id.slice(0, 8));
      person.write("say hello there");
      await person.until(({ lines }) => lines.includes("hello there"));
      person.write("permission");
      await person.until(({ lines }) => lines.some((line) => line.includes("2 or n) Reject")));
      person.write("9");
      await person.until(({ lines }) => lines.some((line) => line.includes("no option '9'")));
      person.write("1");
      await person.until(({ lines }) => lines.some((line) => line.includes('"optionId":"once"')));
      person.child.stdin.end();
      assert.equal(await person.exit, 0);
    }
    const listed = await home.runInProcess("session", "list", "--json");
    const { sessions } = JSON.parse(listed.out) as { sessions: { id: string; title: string }[] };
    assert.deepEqual(
      sessions.map((one) => [one.id, one.title]),
      [[id, "say hello there"]],
    );
    const replayed = await home.run("session", "replay", id);
    assert.match(replayed.out, /^> say hello there\nhello there\n> permission\n\? Run npm install/);
    assert.match(replayed.out, /allow once \(terminal\)/);
    const exported = await home.runInProcess("session", "export", id);
    const { events } = JSON.parse(exported.out) as { events: { seq: number }[] };
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, at) => at + 1),
    );
    assert.match((await home.runInProcess("session", "show", id)).out, /last turn +end_turn/);
    assert.equal((await home.runInProcess("session", "delete", id)).code, 0);
    const gone = await home.runInProcess("session", "replay", id);
    assert.deepEqual([gone.code, gone.out], [1, ""]);
    assert.match(gone.err, /Cannot find session '.*': no such session/);
  });

  it("leaves when the input ends while the agent waits for an answer", async () => {
    using home = new Home();
    let id = "";
    {
      await using editor = home.start("acp");
      const params = { cwd: home.path, mcpServers: [] };
      editor.write({ jsonrpc: "2.0", id: 1, method: "session/new", params });
      const [created] = await editor.answers(1);
      id = String(created?.result?.["sessionId"]);
      editor.child.stdin.end();
      assert.equal(await editor.exit, 0);
    }
    await using person = home.start("session", "attach", id);
    person.write("permission");
    await person.until(({ lines }) => lines.some((line) => line.includes("2 or n) Reject")));
    person.child.stdin.end();
    assert.equal(await person.exit, 1);
    assert.match(person.stderr, /The input ended while the agent waits for an answer/);
    assert.match((await home.runInProcess("session", "show", id)).out, /last turn +interrupted/);
  });

  it("joins a session that a gateway has open, beside others", async () => {
    using home = new Home();
    await using gateway = home.start("serve", "--port", "0", "--json");
    const [ready] = await gateway.answers(1);
    const { acp, headers } = readyOf(ready);
    const socket = new WebSocket(acp, { headers });
    const inbox: string[] = [];
    const { promise: begun, resolve } = Promise.withResolvers<string>();
    socket.on("message", (data: Buffer) => {
      const text = data.toString();
      inbox.push(text);
      const { result } = JSON.parse(text) as { result?: { sessionId?: string } };
      if (result?.sessionId !== undefined) resolve(result.sessionId);
    });
    await new Promise((open) => socket.addEventListener("open", open));
    const params = { cwd: home.path, mcpServers: [] };
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "session/new", params }));
    const id = await begun;
    {
      await using person = home.start("session", "attach", id, "--url", acp);
      person.write("say from a terminal");
      await person.until(({ lines }) => lines.includes("from a terminal"));
      person.child.stdin.end();
      assert.equal(await person.exit, 0);
    }
    // The gateway tells this client when it can, not before the other one has left.
    await until(() => inbox.some((text) => text.includes('"user_message_chunk"')));
    await until(() => inbox.some((text) => text.includes('"text":"from a terminal"')));
    socket.close();
    gateway.child.kill("SIGTERM");
    assert.equal(await gateway.exit, 0);
  });

  it("explains wrong input", async () => {
    using home = new Home();
    for (const [args, words] of [
      [["replay", "nope"], /Cannot find session 'nope'/],
      [["attach", "nope"], /Cannot find session 'nope'/],
      [["attach", "x", "--url", "ws://127.0.0.1:9/acp"], /Cannot connect to 'ws:.*trunkline serve/],
      [["replay", "x", "--after", "y"], /Cannot find session|Cannot use 'y' for --after/],
      [["permissions", "--revoke", "7"], /Cannot revoke permission '7'/],
    ] as const) {
      // Whoever attaches reads the input, which is that of the tests here.
      const isAttaching = args[0] === "attach";
      const { code, err } = await (isAttaching
        ? home.run("session", ...args)
        : home.runInProcess("session", ...args));
      assert.notEqual(code, 0);
      assert.match(err, words);
    }
  });
});
