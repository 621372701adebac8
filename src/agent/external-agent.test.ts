import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import {
  AcpHouse,
  type AcpHouseOptions,
  type Message,
  type TestClient,
} from "../../test/support/acp-house.ts";
import { covers } from "../../test/support/requirement.ts";
import { limitsFor } from "../base/limit/limits.ts";
import { Log } from "../base/log.ts";
import { ExternalAgent } from "./external-agent.ts";

const AGENT = join(import.meta.dirname, "../../test/support/acp-agent.mjs");

/** Somebody else's agent behind our door, and a workspace for it. */
class Driven implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-driven-"));
  readonly agent: ExternalAgent;
  house!: AcpHouse;
  client!: TestClient;
  sessionId = "";

  private constructor(flags: readonly string[]) {
    this.agent = new ExternalAgent({
      name: "other",
      command: process.execPath,
      args: [AGENT, ...flags],
      log: new Log("error", () => {}),
    });
  }

  static async open(
    capabilities: object = {},
    { flags = [], ...options }: AcpHouseOptions & { readonly flags?: string[] } = {},
  ): Promise<Driven> {
    const driven = new Driven(flags);
    driven.house = await AcpHouse.open({ agent: driven.agent, ...options });
    driven.client = driven.house.connect();
    await driven.client.initialize(capabilities);
    const { sessionId } = await driven.client.ask("session/new", { cwd: driven.folder });
    driven.sessionId = String(sessionId);
    return driven;
  }

  /** What the agent says to a prompt. */
  async say(text: string): Promise<string> {
    const before = this.client.text.length;
    await this.client.prompt(this.sessionId, text);
    return this.client.text.slice(before);
  }

  /** What the tool call shows last. */
  get shown(): Message {
    return this.client.updates.findLast(({ toolCallId }) => toolCallId === "run-1")?.content[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.house[Symbol.asyncDispose]();
    await this.agent[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true });
  }
}

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

describe("another agent, driven", { timeout: 30_000 }, () => {
  it("is told what we do for it", async () => {
    await using driven = await Driven.open();
    assert.deepEqual(JSON.parse(await driven.say("capabilities")), {
      fs: { readTextFile: true, writeTextFile: true },
      terminal: true,
      elicitation: { form: {} },
    });
  });

  it("has its commands run here where the editor has no terminals, and shown as text", async () => {
    await using driven = await Driven.open();
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

  it("can kill its commands, and what they started", async () => {
    await using driven = await Driven.open();
    const { exit } = JSON.parse(await driven.say("run kill|sleep 1000 & sleep 1000"));
    assert.deepEqual(exit, { exitCode: null, signal: "SIGKILL" });
  });

  it("has commands that it left behind ended with the session", async () => {
    await using driven = await Driven.open();
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

  it("has its commands run at the editor where that has terminals", async () => {
    await using driven = await Driven.open({ terminal: true });
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

  it("has its forms filled in by who can, and closed where nobody can", async () => {
    await using none = await Driven.open({ elicitation: { url: {} } });
    assert.deepEqual(JSON.parse(await none.say("form")), { action: "cancel" });
    assert.ok(!none.client.messages.some(({ method }) => method === "elicitation/create"));
    await using driven = await Driven.open({ elicitation: { form: {} } });
    const accepted = { action: "accept", content: { name: "x" } };
    driven.client.answer = () => ({ result: accepted });
    assert.deepEqual(JSON.parse(await driven.say("form")), accepted);
    const { params } = await driven.client.request("elicitation/create");
    assert.equal(params.sessionId, driven.sessionId);
    assert.deepEqual(JSON.parse(await driven.say("form outside")), { action: "cancel" });
  });

  it("cannot write through a link that leads out of the workspace, to nothing yet", async () => {
    await using driven = await Driven.open();
    const outside = `${driven.folder}-outside`;
    symlinkSync(outside, join(driven.folder, "link"));
    const said = await driven.say(`write ${driven.folder}/link|text`);
    assert.match(said, /error -31701/);
    writeFileSync(join(driven.folder, "real"), "text");
    symlinkSync("real", join(driven.folder, "inner"));
    assert.equal(await driven.say(`read ${driven.folder}/inner`), "text");
  });

  it("cannot wait for ever on a pipe in the workspace", async () => {
    await using driven = await Driven.open();
    const pipe = join(driven.folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    assert.match(await driven.say(`read ${pipe}`), /error -31701/);
    assert.match(await driven.say(`write ${pipe}|text`), /error -31701/);
  });

  it("is heard ahead of its answer to session/new, and shown after ours", async () => {
    await using driven = await Driven.open({}, { flags: ["--greets"] });
    const { client, sessionId } = driven;
    await client.find(() => client.text === "Welcome. ");
    const answered = client.messages.findIndex(({ result }) => result?.sessionId === sessionId);
    const shown = client.messages.findIndex(({ method }) => method === "session/update");
    assert.ok(answered < shown, `answered as ${answered}, shown as ${shown}`);
  });

  it("has a mode that it changes itself told in both forms", async () => {
    await using driven = await Driven.open();
    await driven.say("mode ask");
    const { updates } = driven.client;
    assert.ok(updates.some(({ currentModeId }) => currentModeId === "ask"));
    const told = updates.find(({ sessionUpdate }) => sessionUpdate === "config_option_update");
    assert.equal(told?.configOptions[0].currentValue, "ask");
  });

  it("is given up when it does not say hello in time, and not asked twice", async () => {
    covers("acp.timeout.initialize");
    assert.deepEqual(limitsFor("initialize").timeout, 30_000);
    const heard: string[] = [];
    await using agent = new ExternalAgent({
      name: "mute",
      // It has to hear it in time, on a busy machine, too.
      command: "/bin/sh",
      args: ["-c", "exec 3>&1; exec cat >&2"],
      limits: { initialize: { timeout: 1_000 } },
      log: new Log("info", (line) => heard.push(line)),
    });
    await using house = await AcpHouse.open({ agent });
    const client = house.connect();
    await client.initialize();
    await assert.rejects(client.ask("session/new", { cwd: "/tmp" }), { code: -32001 });
    const hellos = heard.join("").match(/protocolVersion/g) ?? [];
    assert.equal(hellos.length, 1);
  });

  it("is not given a prompt that was called off before it was there", async () => {
    await using driven = await Driven.open();
    const { client, sessionId } = driven;
    await assert.rejects(client.prompt(sessionId, "crash"));
    const late = client.prompt(sessionId, "remember this");
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.deepEqual(await late, { stopReason: "cancelled" });
    assert.equal(await driven.say("recall"), "undefined");
  });

  it("asks in a turn that begins before one that was given up ends", async () => {
    await using driven = await Driven.open({}, { sessionLimits: { cancelGrace: 1 } });
    const { client, sessionId } = driven;
    client.answer = () => ({ result: { outcome: { outcome: "selected", optionId: "once" } } });
    const lingering = client.prompt(sessionId, "linger");
    await client.find(() => client.text === "lingering");
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.deepEqual(await lingering, { stopReason: "cancelled" });
    const said = await driven.say("release permission");
    assert.deepEqual(JSON.parse(said), { outcome: "selected", optionId: "once" });
  });

  it("is begun once by all who find that it has died", async () => {
    await using driven = await Driven.open();
    const { client, sessionId } = driven;
    await assert.rejects(client.prompt(sessionId, "crash"));
    const prompt = client.prompt(sessionId, "say one");
    await Promise.all([prompt, client.ask("session/set_mode", { sessionId, modeId: "ask" })]);
    assert.match(await driven.say("id"), /^theirs-1-/);
    assert.equal(await driven.say("mode"), "ask");
  });

  it("leaves no question behind when it dies while it asks", async () => {
    await using driven = await Driven.open();
    const end = driven.client.prompt(driven.sessionId, "permission");
    const { id } = await driven.client.request("session/request_permission");
    const failed = assert.rejects(end, { message: /Agent 'other' ended/ });
    await driven.agent[Symbol.asyncDispose]();
    await failed;
    const { params } = await driven.client.request("$/cancel_request");
    assert.equal(params.requestId, id);
  });
});
