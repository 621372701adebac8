import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { AcpSocket } from "../support/acp-socket.ts";
import { bearer, type GuardedGateway, GuardedHome } from "../support/guarded-gateway.ts";
import { runningAt } from "../support/running-at.ts";
import { until } from "../support/until.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const STUBBORN = join(import.meta.dirname, "../support/stubborn-server.mjs");
const SCOPES = ["--scope", "tools", "--scope", "sessions", "--scope", "programs"];

/** The numbers of processes that have left them in a file. */
async function pidsIn(file: string, count: number): Promise<number[]> {
  for (;;) {
    const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    if (lines.length >= count) return lines.map(Number);
    await sleep(20);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that was killed may still have to be buried.
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function untilGone(pids: readonly number[]): Promise<void> {
  await until(() => !pids.some(isAlive));
}

/** The processes of another agent that a gateway has started. */
function agentsOf(gateway: GuardedGateway): number[] {
  const all = runningAt(gateway.program.home);
  return all.filter(({ command }) => command.includes("acp-agent.mjs")).map(({ pid }) => pid);
}

async function beginTurn(client: AcpSocket, cwd: string): Promise<string> {
  const { sessionId } = await client.ask("session/new", { cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: "forever" }];
  client.send("session/prompt", { sessionId, prompt });
  await client.until(({ text }) => (text.includes("3 ") ? true : undefined));
  return String(sessionId);
}

/** A server whose tool never answers. It records what it hears in a file. */
const SLOW = `
  import { appendFileSync } from "node:fs";
  import { createInterface } from "node:readline";
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    appendFileSync(process.argv[2], method + "\\n");
    const send = (result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    if (method === "initialize") {
      send({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
    } else if (method === "tools/list") {
      send({ tools: [{ name: "wait_long", inputSchema: { type: "object" } }] });
    }
  }`;

describe("a revoked token", { timeout: 600_000 }, () => {
  // Each test has tokens of its own.
  let home: GuardedHome;
  let gateway: GuardedGateway;
  let calls = "";
  before(async () => {
    home = new GuardedHome();
    calls = join(home.path, "calls");
    const other = { command: process.execPath, args: [AGENT] };
    const slow = { command: process.execPath, args: [home.write("server.mjs", SLOW), calls] };
    const config = { agent: "other", agents: { other }, mcpServers: { slow } };
    home.write("config.jsonc", JSON.stringify(config));
    gateway = await home.serve();
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  it("ends the agents and turns that it started, and nobody else's", async () => {
    const ann = bearer(await home.createToken("ann", ...SCOPES));
    const bob = bearer(await home.createToken("bob", ...SCOPES));
    const before = agentsOf(gateway);
    using first = await AcpSocket.connect(gateway.acp, ann);
    const sessionId = await beginTurn(first, home.path);
    const [annsAgent = 0, ...more] = agentsOf(gateway).filter((pid) => !before.includes(pid));
    assert.deepEqual(more, []);
    // The connection goes, and the work goes on: that is what ends with the token.
    first.socket.close();
    await once(first.socket, "close");
    using second = await AcpSocket.connect(gateway.acp, bob);
    await beginTurn(second, home.path);
    const known = [...before, annsAgent];
    const [bobsAgent = 0] = agentsOf(gateway).filter((pid) => !known.includes(pid));
    assert.notEqual(bobsAgent, 0, "two principals share a process");
    assert.ok(isAlive(annsAgent));
    const { code } = await home.runInProcess("token", "revoke", "ann");
    assert.equal(code, 0);
    await untilGone([annsAgent]);
    assert.ok(isAlive(bobsAgent));
    const said = second.text.length;
    await second.until(({ text }) => (text.length > said ? true : undefined));
    // What was said is still the owner's to read.
    const { out } = await home.runInProcess("session", "show", sessionId);
    assert.match(out, /last turn +(cancelled|interrupted)/);
    await home.runInProcess("token", "revoke", "bob");
    await untilGone([bobsAgent]);
  });

  it("ends the MCP servers of its sessions at once, also those that ignore signals", async () => {
    // The built-in agent: other agents start them by themselves.
    using home = new GuardedHome();
    const eve = bearer(await home.createToken("eve", ...SCOPES));
    await using gateway = await home.serve();
    using client = await AcpSocket.connect(gateway.acp, eve);
    const file = join(home.path, "pids");
    const args = [STUBBORN, file];
    const mcpServers = [{ name: "stubborn", command: process.execPath, args, env: [] }];
    await client.ask("session/new", { cwd: home.path, mcpServers });
    const pids = await pidsIn(file, 2);
    assert.ok(pids.every(isAlive));
    const closed = once(client.socket, "close");
    await home.runInProcess("token", "revoke", "eve");
    await untilGone(pids);
    await closed;
    // The first is not asked: it is given no time in which it could do anything.
    const asked = existsSync(`${file}.asked`) ? readFileSync(`${file}.asked`, "utf8") : "";
    assert.doesNotMatch(asked, /SIGTERM/);
  });

  it("does so too when it expires", async () => {
    const ida = bearer(await home.createToken("ida", ...SCOPES));
    const before = agentsOf(gateway);
    using client = await AcpSocket.connect(gateway.acp, ida);
    await beginTurn(client, home.path);
    const pids = agentsOf(gateway).filter((pid) => !before.includes(pid));
    assert.equal(pids.length, 1);
    // As though its time had come.
    const file = join(home.data, "access-tokens.json");
    const { tokens } = JSON.parse(readFileSync(file, "utf8")) as { tokens: { name: string }[] };
    const expires = new Date(Date.now() + 100).toISOString();
    const changed = tokens.map((each) => (each.name === "ida" ? { ...each, expires } : each));
    home.write("data/access-tokens.json", JSON.stringify({ tokens: changed }));
    await untilGone(pids);
  });

  it("ends what the owner's token started, when that is rotated", async () => {
    const joe = bearer(await home.createToken("joe", ...SCOPES));
    const before = agentsOf(gateway);
    using owner = await AcpSocket.connect(gateway.acp, gateway.owner);
    await beginTurn(owner, home.path);
    const owners = agentsOf(gateway).filter((pid) => !before.includes(pid));
    using client = await AcpSocket.connect(gateway.acp, joe);
    await beginTurn(client, home.path);
    const known = [...before, ...owners];
    const others = agentsOf(gateway).filter((pid) => !known.includes(pid));
    assert.deepEqual([owners.length, others.length], [1, 1]);
    await home.runInProcess("token", "rotate");
    await untilGone(owners);
    assert.ok(others.every(isAlive));
    await home.runInProcess("token", "revoke", "joe");
    await untilGone(others);
  });

  it("ends a running call, in a session whose client is not connected", async () => {
    const kim = bearer(await home.createToken("kim", ...SCOPES));
    const session = await gateway.begin(kim);
    const ask = (method: string, params: object) =>
      gateway.post({ jsonrpc: "2.0", id: method, method, params }, { ...kim, ...session });
    await ask("tools/list", {});
    const answer = ask("tools/call", { name: "wait_long", arguments: {} }).catch(() => undefined);
    const heard = (method: string): Promise<void> =>
      until(() => readFileSync(calls, "utf8").includes(method));
    await heard("tools/call");
    await home.runInProcess("token", "revoke", "kim");
    await heard("notifications/cancelled");
    await answer;
  });
});
