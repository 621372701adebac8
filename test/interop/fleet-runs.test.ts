import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { probeSandbox } from "../../src/sandbox/probe.ts";
import { AcpSocket, promptOf } from "../support/acp-socket.ts";
import { GitRig } from "../support/git-rig/git-rig.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { NatsServer, noNats } from "../support/nats-server.ts";
import { readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";
import { runFromShell } from "../support/run-from-shell.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const TOKEN = "token-of-alice-0123456789abcdef";
const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");
const skip = noNats || WITHOUT_SSHD || noSandbox;

describe("remote runs in a fleet", { timeout: 600_000, skip }, () => {
  it("are shown by a gateway, whichever worker has them, and without paths", async () => {
    await using rig = await GitRig.start();
    await using nats = await NatsServer.start();
    rig.forge.tokens.set(TOKEN, { account: "alice" });
    const match = [{ remote: `https://${rig.forge.host}/*` }];
    rig.configure({
      agents: { scripted: { command: process.execPath, args: [AGENT] } },
      remote: { allowPrivate: true },
      identities: rig.identities({ alice: { host: rig.forge.host, match } }),
    });
    await rig.must("trunkline identity token set alice", { input: `${TOKEN}\n` });
    rig.makeRepository("team/app");
    const url = rig.httpsUrl("team/app");
    const clone = rig.makeClone("app", url);
    const git = (...args: string[]): string =>
      runFromShell("git", ["-C", clone, ...args], { env: rig.env }).trim();
    writeFileSync(join(clone, "README.md"), "hello\n");
    git("add", ".");
    git("-c", "user.name=Ida", "-c", "user.email=ida@example.com", "commit", "-qm", "Begin");
    git("push", "--quiet", join(rig.root, "repositories/team/app.git"), "HEAD:main");

    await using ends = new AsyncDisposableStack();
    const start = async (words: string[], env: object = {}): Promise<Program> => {
      const program = new Program([...words, "--json"], { env: { ...rig.env, ...env } as never });
      ends.use(program);
      ends.defer(async () => {
        program.child.kill("SIGTERM");
        await program.exit;
      });
      await program.until(({ lines }) => lines.length > 0);
      return program;
    };
    const data = (name: string): string => {
      mkdirSync(join(rig.root, name), { mode: 0o700 });
      return join(rig.root, name);
    };
    const bus = ["--bus", nats.url];
    const worker = await start(["worker", ...bus, "--name", "w1"]);
    const served = await start([
      "serve",
      ...bus,
      "--name",
      "g1",
      "--port",
      "0",
      "--data",
      data("g1"),
    ]);
    const { acp, tokenFile } = readyOf(JSON.parse(served.lines[0] ?? ""));
    const authorization = readFileSync(tokenFile, "utf8");
    using client = await AcpSocket.connect(`${acp}?agent=scripted`, { authorization });
    const remote = { url, branch: "main", revision: git("rev-parse", "HEAD") };
    const opening = { cwd: "", mcpServers: [], _meta: { remote } };
    const { sessionId } = await client.ask("session/new", opening);
    const ended = await client.ask("session/prompt", promptOf(sessionId, "put new.txt|new|0"));
    // It has nothing of the run.
    const w2 = data("w2");
    await rig.must(`trunkline identity token set alice --data ${w2}`, { input: `${TOKEN}\n` });
    await start(["worker", ...bus, "--name", "w2", "--data", w2]);

    const env = { TRUNKLINE_TOKEN: authorization.replace(/^Bearer /, "").trim() };
    const run = async (...words: string[]) => {
      await using program = new Program(["run", ...words, "--url", acp], {
        env: { ...rig.env, ...env },
      });
      const exit = await program.exit;
      return { exit, text: `${program.lines.join("\n")}\n`, stderr: program.stderr };
    };
    const shown = await run("show", sessionId);
    assert.match(shown.text, /state +pushed\n[^]*new\.txt +\+1 +-0\n/, shown.stderr);
    assert.match((await run("log", sessionId.slice(0, 8))).text, /Pushed agent\/\w+ at /);
    assert.match((await run("diff", sessionId)).text, /^\+new$/m);
    assert.match((await run("patch", sessionId)).text, /^\+new$/m);

    // Otherwise the other worker takes the session for the client.
    client[Symbol.dispose]();
    worker.child.kill("SIGTERM");
    await worker.exit;
    const lost = await run("patch", sessionId);
    assert.equal(lost.exit, 1);
    assert.match(lost.stderr, /The worker that has the files of this run does not answer\. Ask/);
    const still = await run("show", sessionId);
    assert.match(still.text, /pushed +[0-9a-f]{12}/, still.stderr);
    // Whoever takes the session over knows what was pushed, before it has any of its files.
    using again = await AcpSocket.connect(acp, { authorization });
    const loaded = await again.ask("session/load", { sessionId, cwd: "", mcpServers: [] });
    assert.deepEqual(loaded._meta.target, ended._meta.target);
    assert.notEqual(loaded._meta.target.revision, remote.revision);
    for (const { text, stderr } of [shown, lost, still]) {
      assert.ok(!`${text}${stderr}`.includes(rig.root), text + stderr);
    }
  });
});
