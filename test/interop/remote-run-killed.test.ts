import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { runFromShell } from "../support/run-from-shell.ts";
import { probeSandbox } from "../../src/sandbox/probe.ts";
import { AcpSocket } from "../support/acp-socket.ts";
import { GitRig } from "../support/git-rig/git-rig.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";
import { until } from "../support/until.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const TOKEN = "token-of-alice-0123456789abcdef";
const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

const isBounded = findings.some(({ part, isInForce }) => part === "cgroup" && isInForce);

/** A server for remote runs, and its clients. */
async function serve(rig: GitRig) {
  const program = new Program(["serve", "--port", "0", "--json"], { env: rig.env as never });
  await program.until(({ lines }) => lines.length > 0);
  const { acp, tokenFile } = readyOf(JSON.parse(program.lines[0] ?? ""));
  const authorization = readFileSync(tokenFile, "utf8");
  const connect = () => AcpSocket.connect(`${acp}?agent=scripted`, { authorization });
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    program.child.kill(signal);
    await program.exit;
  };
  return { program, connect, kill };
}

describe(
  "a server of remote runs that is killed",
  { timeout: 600_000, skip: WITHOUT_SSHD || noSandbox },
  () => {
    it("loses no work: the session continues on the same branch", async () => {
      await using rig = await GitRig.start();
      rig.forge.tokens.set(TOKEN, { account: "alice" });
      const agents = { scripted: { command: process.execPath, args: [AGENT] } };
      const identities = rig.identities({
        alice: { host: rig.forge.host, match: [{ remote: `https://${rig.forge.host}/*` }] },
      });
      rig.configure({ agents, remote: { allowPrivate: true, hibernateAfter: 1 }, identities });
      await rig.must("trunkline identity token set alice", { input: `${TOKEN}\n` });
      rig.makeRepository("team/app");
      const url = rig.httpsUrl("team/app");
      const clone = rig.makeClone("app", url);
      const bare = join(rig.root, "repositories/team/app.git");
      const git = (...args: string[]): string =>
        runFromShell("git", ["-C", clone, ...args], { env: rig.env }).trim();
      writeFileSync(join(clone, "README.md"), "hello\n");
      git("add", ".");
      git("-c", "user.name=Ida", "-c", "user.email=ida@example.com", "commit", "-qm", "Begin");
      git("push", "--quiet", bare, "HEAD:main");
      const remote = { url, branch: "main", revision: git("rev-parse", "HEAD") };
      const opening = { cwd: "", mcpServers: [], _meta: { remote } };
      const turn = (sessionId: string, text: string) => ({
        sessionId,
        prompt: [{ type: "text", text }],
      });
      const mounts = (): string[] =>
        readFileSync("/proc/self/mounts", "utf8")
          .split("\n")
          .filter((line) => line.includes(join(rig.root, "data/run/work")));

      /** Control groups of runs of this server. */
      const groups = (): string[] =>
        execFileSync("find", ["/sys/fs/cgroup", "-name", "trunkline-*"], { encoding: "utf8" })
          .split("\n")
          .filter((path) => [...workspaces].some((name) => path.includes(`trunkline-${name}-`)));
      const workspaces = new Set<string>();

      const first = await serve(rig);
      let sessionId: string;
      {
        await using _ = first.program;
        using ide = await first.connect();
        const begun = await ide.ask("session/new", opening);
        ({ sessionId } = begun);
        workspaces.add(workspaceOf(begun));
        await ide.ask("session/prompt", turn(sessionId, "run w|sh|-c|echo one > one.txt"));
        ide.send("session/prompt", turn(sessionId, "run w|sh|-c|echo two > two.txt; sleep 600"));
        const tree = join(rig.root, "data/run/work");
        const isWritten = (): boolean =>
          execFileSync("find", [tree, "-name", "two.txt"], { encoding: "utf8" }) !== "";
        await until(isWritten);
        if (isBounded) assert.notDeepEqual(groups(), []);
        await first.kill("SIGKILL");
      }
      const second = await serve(rig);
      await using _ = second.program;
      using ide = await second.connect();
      // The first run unmounts what the killed server left mounted, and removes its control groups.
      const other = await ide.ask("session/new", opening);
      await until(() => !mounts().some((line) => !line.includes(workspaceOf(other))));
      await until(() => groups().length === 0);
      // The files of the interrupted turn hibernate as a commit, and are restored.
      const work = join(rig.root, "data/run/work");
      const [killed = ""] = readdirSync(work).filter((name) => name !== workspaceOf(other));
      await until(() => !existsSync(join(work, killed, "tree")));
      const listed = await rig.must("trunkline session list");
      assert.match(listed, new RegExp(`^${sessionId.slice(0, 8)} .* hibernated `, "m"));
      const loaded = await ide.ask("session/load", { sessionId, cwd: "", mcpServers: [] });
      const end = await ide.ask(
        "session/prompt",
        turn(sessionId, "run w|sh|-c|echo three > three.txt"),
      );
      assert.equal(end._meta.trunkline.run, "pushed");
      assert.equal(end._meta.target.branch, loaded._meta.target.branch);
      git("fetch", "--quiet", bare, end._meta.target.branch);
      const files = git("ls-tree", "--name-only", "FETCH_HEAD").split("\n");
      assert.deepEqual(files, ["README.md", "one.txt", "three.txt", "two.txt"]);
      workspaces.add(workspaceOf(other));
      await second.kill("SIGTERM");
      assert.deepEqual(groups(), []);
      assert.deepEqual(mounts(), []);
    });
  },
);

function workspaceOf(session: { _meta: { target: { branch: string } } }): string {
  return session._meta.target.branch.replace("agent/", "");
}
