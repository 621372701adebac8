import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { runFromShell } from "../support/run-from-shell.ts";
import { probeSandbox } from "../../src/sandbox/probe.ts";
import { AcpSocket } from "../support/acp-socket.ts";
import { GitRig } from "../support/git-rig/git-rig.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { type Ready, readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const ALICES = "token-of-alice-0123456789abcdef";
const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

/** Git is real; the forge's API is simulated, because no forge can run here: see `ForgeRequests`. */
describe("the pull request of a remote run", { skip: WITHOUT_SSHD || noSandbox }, () => {
  let rig: GitRig;
  let server: Program;
  let ready: Ready;
  let repositories = 0;

  before(async () => {
    rig = await GitRig.start();
    rig.forge.tokens.set(ALICES, { account: "alice" });
    const { host } = rig.forge;
    rig.configure({
      agent: "scripted",
      agents: { scripted: { command: process.execPath, args: [AGENT] } },
      remote: { allowPrivate: true, forges: { localhost: "gitlab" } },
      identities: rig.identities({ alice: { host, match: [{ remote: `https://${host}/*` }] } }),
    });
    await rig.must("trunkline identity token set alice", { input: `${ALICES}\n` });
    server = new Program(["serve", "--port", "0", "--json"], { env: rig.env as never });
    await server.until(({ lines }) => lines.length > 0);
    ready = readyOf(JSON.parse(server.lines[0] ?? ""));
  });

  after(async () => {
    server.child.kill();
    await server.exit;
    await server[Symbol.asyncDispose]();
    await rig[Symbol.asyncDispose]();
  });

  /** A repository in a subgroup, with one commit on `main`. */
  function repository() {
    const name = `team/web/run${++repositories}`;
    rig.makeRepository(name);
    const clone = rig.makeClone(`run${repositories}`, rig.httpsUrl(name));
    const git = (...args: string[]): string =>
      runFromShell("git", ["-C", clone, ...args], { env: rig.env }).trim();
    writeFileSync(join(clone, "README.md"), "hello\n");
    git("add", ".");
    git("-c", "user.name=Ida", "-c", "user.email=ida@example.com", "commit", "-qm", "Begin");
    git("push", "--quiet", join(rig.root, "repositories", `${name}.git`), "HEAD:main");
    const requests = rig.forge.requests.of(name);
    return { name, clone, url: rig.httpsUrl(name), revision: git("rev-parse", "HEAD"), requests };
  }

  async function begin(remote: object) {
    const authorization = readFileSync(ready.tokenFile, "utf8");
    const ide = await AcpSocket.connect(ready.acp, { authorization });
    const _meta = { remote, trunkline: { pullRequest: true } };
    const { sessionId } = await ide.ask("session/new", { cwd: "", mcpServers: [], _meta });
    const prompt = async (text: string): Promise<Record<string, unknown>> => {
      const asked = { sessionId, prompt: [{ type: "text", text }] };
      return (await ide.ask("session/prompt", asked))._meta.trunkline;
    };
    return { ide, prompt, [Symbol.dispose]: () => ide[Symbol.dispose]() };
  }

  it("is opened with the first push, and describes the whole branch after the next", async () => {
    const { requests, url, revision } = repository();
    using session = await begin({ url, branch: "main", revision });
    const first = await session.prompt("run w|sh|-c|echo 1 > one");
    const { pullRequest } = first as { pullRequest: { number: number } };
    assert.equal(pullRequest.number, 1);
    assert.match(session.ide.text, /Opened pull request #1, https:\/\/forge\.test\/team\/web/);
    const second = await session.prompt("run w|sh|-c|echo 2 > two");
    assert.deepEqual(second.pullRequest, pullRequest);
    assert.equal(requests.length, 1);
    const [request] = requests;
    assert.deepEqual([request?.base, request?.isDraft], ["main", false]);
    assert.match(
      request?.body ?? "",
      /1\. run w.*\n2\. run w.*one \| 1 \+\n two \| 1 \+\n 2 files/s,
    );
    const none = await session.prompt("say nothing");
    assert.deepEqual(none, { run: "unchanged", pullRequest });
  });

  it("may fail without the run: the branch is pushed, and the next turn retries", async () => {
    const { requests, url, revision } = repository();
    using session = await begin({ url, branch: "", revision });
    rig.forge.requests.fault = { status: 403, body: { message: "403 Forbidden" } };
    const failed = await session.prompt("run w|sh|-c|echo 1 > one");
    rig.forge.requests.fault = "none";
    assert.equal(failed.run, "pushed");
    const { error, page } = failed.pullRequest as { error: string; page: string };
    assert.match(error, /403: 403 Forbidden\. The token needs the right to write/);
    assert.match(page, /\/-\/merge_requests\/new\?/);
    assert.match(session.ide.text, /The branch is pushed, but there is no pull request for it/);
    const next = await session.prompt("say try again");
    assert.equal(next.run, "unchanged");
    assert.equal((next.pullRequest as { number: number }).number, 1);
    assert.equal(requests.length, 1);
    // The forge was asked for its default branch, because the client named none.
    assert.equal(requests[0]?.base, "main");
  });

  it("can be requested from a terminal, which prints its URL", async () => {
    const { clone, requests } = repository();
    const args = ["run", clone, "run w|sh|-c|echo 1 > one", "--url", ready.acp, "--pull-request"];
    await using program = new Program(args, { env: rig.env as never });
    assert.equal(await program.exit, 0, program.stderr);
    const [request] = requests;
    assert.equal(program.lines.at(-1), request?.head);
    assert.match(program.lines.join("\n"), /^Pull request #1: https:\/\/forge\.test\/team\/web/m);
    assert.ok(!`${server.stderr}${program.stderr}`.includes(ALICES));
  });
});
