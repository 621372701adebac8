import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { runFromShell } from "../support/run-from-shell.ts";
import { probeSandbox } from "../../src/sandbox/probe.ts";
import { FakeLlm } from "../agent/fake-llm.ts";
import { AcpSocket } from "../support/acp-socket.ts";
import { GitRig } from "../support/git-rig/git-rig.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { type Ready, readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const ALICES = "token-of-alice-0123456789abcdef";
const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

interface Target {
  readonly url: string;
  readonly branch: string;
  readonly revision: string;
}

describe("a remote run", { timeout: 600_000, skip: WITHOUT_SSHD || noSandbox }, () => {
  let rig: GitRig;
  let llm: FakeLlm;
  let server: Program;
  let ready: Ready & { readonly headers: { authorization: string } };
  let repositories = 0;

  before(async () => {
    rig = await GitRig.start();
    llm = await FakeLlm.start([
      { toolCalls: [{ name: "run_command", arguments: { command: "echo one > one.txt" } }] },
      { content: "That is all." },
    ]);
    Object.assign(rig.env, { OPENAI_API_KEY: "sk-0123456789", OPENAI_BASE_URL: `${llm.url}/v1` });
    rig.forge.tokens.set(ALICES, { account: "alice" });
    const { host } = rig.forge;
    const agents = { scripted: { command: process.execPath, args: [AGENT] } };
    const remote = { allowPrivate: true, coAuthor: { name: "Ida", email: "ida@example.com" } };
    const identities = rig.identities({
      alice: { host, match: [{ remote: `https://${host}/*` }, { host: "localhost" }] },
    });
    rig.configure({ agents, remote, identities });
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
    await llm[Symbol.asyncDispose]();
  });

  /** A repository with one commit, as an IDE has it checked out. */
  function checkedOut(way: "https" | "ssh") {
    const name = `team/run${++repositories}`;
    rig.makeRepository(name);
    const url = way === "https" ? rig.httpsUrl(name) : rig.sshUrl(name);
    const clone = rig.makeClone(`run${repositories}`, url);
    const git = (...args: string[]): string =>
      runFromShell("git", ["-C", clone, ...args], { env: rig.env }).trim();
    const bare = join(rig.root, "repositories", `${name}.git`);
    writeFileSync(join(clone, "README.md"), "hello\n");
    git("add", ".");
    git("-c", "user.name=Ida", "-c", "user.email=ida@example.com", "commit", "-qm", "Begin");
    git("push", "--quiet", bare, "HEAD:main");
    return { url, clone, bare, git, revision: git("rev-parse", "HEAD") };
  }

  /** Connects like the guide's IDE: the raw token, an empty `cwd`, and the git state of the project. */
  async function connect(query = "?agent=scripted", token?: string): Promise<AcpSocket> {
    const authorization = token ?? readFileSync(ready.tokenFile, "utf8");
    return await AcpSocket.connect(`${ready.acp}${query}`, { authorization });
  }

  async function begin(
    ide: AcpSocket,
    { url, revision }: { url: string; revision: string },
    method = "session/new",
  ): Promise<{ sessionId: string; _meta: { target: Target } }> {
    const remote = { url, branch: "main", revision };
    return await ide.ask(method, { cwd: "", mcpServers: [], _meta: { remote } });
  }

  async function prompt(ide: AcpSocket, sessionId: string, text: string) {
    const answer = await ide.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    return answer as { stopReason: string; _meta: { target?: Target; trunkline: { run: string } } };
  }

  for (const way of ["https", "ssh"] as const) {
    it(`pushes a branch that the IDE fetches and merges, by ${way}`, async () => {
      const project = checkedOut(way);
      using ide = await connect();
      const created = await begin(ide, project);
      const { target: planned } = created._meta;
      assert.match(planned.branch, /^agent\/[a-z0-9]+$/);
      assert.equal(planned.revision, project.revision);
      const end = await prompt(ide, created.sessionId, "run w|sh|-c|echo new > new.txt");
      assert.equal(end._meta.trunkline.run, "pushed");
      const { target } = end._meta;
      assert.equal(target?.url, project.url);
      assert.equal(target?.branch, planned.branch);
      const fetched = join(project.bare);
      project.git("fetch", "--quiet", fetched, target.branch);
      assert.equal(project.git("rev-parse", "FETCH_HEAD"), target.revision);
      project.git("merge", "--quiet", "--ff-only", "FETCH_HEAD");
      assert.equal(readFileSync(join(project.clone, "new.txt"), "utf8"), "new\n");
      const message = project.git("log", "-1", "--format=%an <%ae>%n%(trailers)");
      assert.match(message, /^alice <alice@rig\.test>/);
      assert.match(message, new RegExp(`Trunkline-Session: ${created.sessionId}`));
      assert.match(message, /Co-authored-by: Ida <ida@example\.com>/);
    });
  }

  it("answers before it sends updates, also for the guide's other method name", async () => {
    const project = checkedOut("https");
    using ide = await connect();
    const id = ide.send("session/create", {
      cwd: "",
      mcpServers: [],
      _meta: {
        remote: { url: project.url, branch: "refs/heads/main", revision: project.revision },
      },
    });
    const answer = await ide.until(({ messages }) => messages.find((each) => each.id === id));
    const before = ide.messages.slice(0, ide.messages.indexOf(answer));
    assert.deepEqual(
      before.filter(({ method }) => method === "session/update"),
      [],
    );
    assert.ok(answer.result._meta.target.branch);
  });

  it("forwards permission requests, and does not touch the IDE's files", async () => {
    const project = checkedOut("https");
    using ide = await connect();
    const { sessionId } = await begin(ide, project);
    const turn = prompt(ide, sessionId, "permission");
    const asked = await ide.until(({ messages }) =>
      messages.find(({ method }) => method === "session/request_permission"),
    );
    const outcome = { outcome: "selected", optionId: "once" };
    ide.socket.send(JSON.stringify({ jsonrpc: "2.0", id: asked.id, result: { outcome } }));
    await turn;
    assert.match(ide.text, /"optionId":"once"/);
    assert.ok(!ide.messages.some(({ method }) => /^(?:fs|terminal)\//.test(method ?? "")));
  });

  it("extends the same branch in the next turn, and pushes nothing if nothing changed", async () => {
    const project = checkedOut("https");
    using ide = await connect();
    const { sessionId } = await begin(ide, project);
    const first = await prompt(ide, sessionId, "run w|sh|-c|echo 1 > one");
    const none = await prompt(ide, sessionId, "say nothing to do");
    assert.equal(none._meta.trunkline.run, "unchanged");
    assert.deepEqual(none._meta.target, first._meta.target);
    assert.match(ide.text, /Nothing was changed, so nothing was pushed/);
    const second = await prompt(ide, sessionId, "run w|sh|-c|echo 2 > two");
    const { branch = "", revision } = second._meta.target ?? {};
    assert.equal(branch, first._meta.target?.branch);
    project.git("fetch", "--quiet", project.bare, branch);
    assert.equal(project.git("rev-parse", "FETCH_HEAD"), revision);
    assert.equal(project.git("rev-parse", "FETCH_HEAD^"), first._meta.target?.revision);
  });

  it("continues when the IDE disconnects, and can be resumed", async () => {
    const project = checkedOut("https");
    let sessionId: string;
    {
      using ide = await connect();
      ({ sessionId } = await begin(ide, project));
      ide.send("session/prompt", {
        sessionId,
        prompt: [{ type: "text", text: "run w|sh|-c|sleep 1; echo late > late.txt" }],
      });
      await ide.until(({ messages }) => messages.find(({ params }) => params?.update?.toolCallId));
    }
    using ide = await connect();
    const loaded = await ide.ask("session/load", { sessionId, cwd: "", mcpServers: [] });
    assert.ok(loaded._meta.target.branch);
    await ide.until(({ text }) => (/Pushed agent\//.test(text) ? true : undefined));
    project.git("fetch", "--quiet", project.bare, loaded._meta.target.branch);
    assert.equal(project.git("show", "FETCH_HEAD:late.txt"), "late");
  });

  it("runs the built-in agent like any other", async () => {
    const project = checkedOut("https");
    using ide = await connect("");
    const { sessionId } = await begin(ide, project);
    const end = await prompt(ide, sessionId, "/help");
    assert.equal(end._meta.trunkline.run, "unchanged");
  });

  it("pauses the built-in agent after its running tool call, and goes on", async () => {
    const project = checkedOut("https");
    using ide = await connect("");
    const { sessionId } = await begin(ide, project);
    const shown = (what: RegExp) =>
      ide.until(({ messages }) => what.test(JSON.stringify(messages)) || undefined);
    const turn = prompt(ide, sessionId, "go");
    const { id } = await ide.until(({ messages }) =>
      messages.find(({ method }) => method === "session/request_permission"),
    );
    assert.deepEqual(await prompt(ide, sessionId, "/pause"), { stopReason: "end_turn" });
    await shown(/Paused after the running step/);
    const result = { outcome: { outcome: "selected", optionId: "allow" } };
    ide.socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
    await shown(/"status":"completed"/);
    // The next request would be on its way by now.
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(llm.requests.length, 1);
    assert.doesNotMatch(ide.text, /That is all|Goes on/);
    await prompt(ide, sessionId, "/continue");
    assert.equal((await turn)._meta.trunkline.run, "pushed");
    assert.match(ide.text, /Goes on.*That is all/s);
    assert.equal(ide.text.match(/Paused after the running step/g)?.length, 1);
    const { branch = "" } = (await turn)._meta.target ?? {};
    assert.equal(project.git("--git-dir", project.bare, "show", `${branch}:one.txt`), "one");
  });

  it("names the invalid part of a request", async () => {
    using ide = await connect();
    const project = checkedOut("https");
    const wrong: [object, RegExp][] = [
      [{ ...project, revision: "main" }, /_meta\.remote\.revision/],
      [{ ...project, url: "" }, /_meta\.remote\.url/],
      [{ ...project, url: "ext::sh -c id" }, /only https and ssh/],
      [{ ...project, url: `file://${project.bare}` }, /only https and ssh/],
      [{ ...project, url: "ssh://-oProxyCommand=id/x" }, /cannot be parsed/],
      [{ ...project, revision: "0".repeat(40) }, /not on branch|Cannot fetch|failed/],
    ];
    for (const [remote, says] of wrong) {
      await assert.rejects(begin(ide, remote as never), says);
    }
  });

  it("is refused at its start if the result could not be pushed", async () => {
    using ide = await connect();
    const project = checkedOut("https");
    project.git("--git-dir", project.bare, "config", "http.receivepack", "false");
    await assert.rejects(begin(ide, project), /push/i);
    project.git("--git-dir", project.bare, "config", "http.receivepack", "true");
    assert.match((await begin(ide, project))._meta.target.branch, /^agent\//);
  });

  it("can be started from a terminal, here or on a server, and ends with the branch", async () => {
    for (const where of [[], ["--url", ready.acp]]) {
      const project = checkedOut("https");
      const task = "run w|sh|-c|printf 'a\\nb\\n' > new.txt";
      const args = ["run", project.clone, task, "--agent", "scripted", ...where];
      await using program = new Program(args, { env: rig.env as never });
      assert.equal(await program.exit, 0, program.stderr);
      const branch = program.lines.at(-1) ?? "";
      assert.match(branch, /^agent\/[a-z0-9]+$/);
      assert.match(program.lines.join("\n"), /new\.txt \| +2 \+\+\n 1 file changed, 2 lines added/);
      assert.equal(project.git("--git-dir", project.bare, "show", `${branch}:new.txt`), "a\nb");
    }
  });

  it("reports its outcome as JSON, and fails if nothing was pushed", async () => {
    const project = checkedOut("https");
    const ask = async (...words: string[]) => {
      const args = ["run", project.url, ...words, "--agent", "scripted", "--json"];
      await using program = new Program(args, { env: rig.env as never });
      const code = await program.exit;
      return {
        code,
        result: JSON.parse(program.lines.join("\n") || "null"),
        stderr: program.stderr,
      };
    };
    const pushed = await ask("run w|sh|-c|echo new > new.txt", "--revision", "main");
    assert.equal(pushed.code, 0);
    assert.equal(pushed.result.run, "pushed");
    assert.deepEqual(pushed.result.changes, [{ path: "new.txt", added: 1, removed: 0 }]);
    const refused = await ask("run w|sh|-c|echo 'secret of mine' > .env");
    assert.equal(refused.code, 1);
    assert.equal(refused.result.run, "refused");
    const { session } = refused.result as { session: string };
    const patch = await rig.must(`trunkline run patch ${session}`);
    assert.match(patch, /^\+secret of mine$/m);
    const workspaces = (): number => readdirSync(join(rig.root, "data/run/work")).length;
    const before = workspaces();
    await rig.must(`trunkline session delete ${session}`);
    assert.equal(workspaces(), before - 1);
    const unknown = await ask("anything", "--revision", "nowhere");
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /There is no branch or tag 'nowhere'/);
  });

  it("stops when the budget of a token is used up, and pushes the changes so far", async () => {
    const options = "--scope sessions --budget-time 3s --concurrent 1";
    const token = (await rig.must(`trunkline token create guest ${options}`)).trim();
    const project = checkedOut("https");
    using ide = await connect("?agent=scripted", token);
    const { sessionId } = await begin(ide, project);
    await assert.rejects(begin(ide, project), /1 session is open, and 1 may be/);
    const end = await prompt(ide, sessionId, "run w|sh|-c|echo part > part.txt; sleep 600");
    assert.equal(end.stopReason, "max_turn_requests");
    assert.equal(end._meta.trunkline.run, "pushed");
    assert.match(ide.text, /Stopped: \d+ of 3 seconds of today's budget are used/);
    const { branch = "" } = end._meta.target ?? {};
    assert.equal(project.git("--git-dir", project.bare, "show", `${branch}:part.txt`), "part");
    const refused = /Cannot begin a turn: .* access token 'guest' \(--budget-time\)/;
    await assert.rejects(prompt(ide, sessionId, "say more"), refused);
    const listed = await rig.must("trunkline token list");
    assert.match(listed, /guest .* used today: 1 step, \d+ of 3 seconds/);
  });

  it("leaves neither a mount, a process nor a secret behind", async () => {
    const project = checkedOut("https");
    using ide = await connect();
    const { sessionId } = await begin(ide, project);
    await prompt(ide, sessionId, "run leave|sleep|4321");
    await ide.ask("session/delete", { sessionId });
    const work = join(rig.root, "data/run/work");
    assert.ok(!readFileSync("/proc/self/mounts", "utf8").includes(join(work, sessionId)));
    assert.deepEqual(
      readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name) && existsSync(`/proc/${name}/cmdline`))
        .filter((pid) => commandLine(pid).includes("sleep\u00004321")),
      [],
    );
    const found = execFileSync("sh", ["-c", `grep -rl '${ALICES}' '${rig.root}/data/run' || true`]);
    assert.equal(found.toString(), "");
  });
});

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
