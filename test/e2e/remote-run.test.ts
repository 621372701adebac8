// Long: whole remote runs.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ClientOptions, WebSocket } from "ws";

import { probeSandbox } from "../../src/sandbox/probe.ts";
import type { Json } from "../support/acp-app.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { processesWhere } from "../support/processes.ts";
import { Program } from "../support/program.ts";
import { covers } from "../support/requirement.ts";
import { promptOf } from "../support/acp-socket.ts";
import { openingOf, RunRig } from "../support/remote-run/run-rig.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

const isBounded = findings.some(({ part, isInForce }) => part === "cgroup" && isInForce);

const SERVICE = `node -e 'console.log("up"); require("http").createServer((_, r) => r.end("42")).listen(8765, "127.0.0.1")'`;
const LIMITS = { repositories: { "*/team/small": { memory: 200 * 1024 ** 2 } } };

describe(
  "a remote run, with any client",
  { timeout: 600_000, skip: WITHOUT_SSHD || noSandbox },
  () => {
    let run: RunRig;
    /** What a client needs to trust the server's certificate. */
    let trust: ClientOptions;

    before(async () => {
      const repositories = { "*/team/served": { services: { database: SERVICE } } };
      const setup = { from: ["devcontainer"], repositories };
      const config = { remote: { setup, limits: LIMITS } };
      run = await RunRig.start({ tls: true, config });
      trust = { ca: readFileSync(join(run.rig.root, "server-ca.pem")) };
    });

    after(() => run[Symbol.asyncDispose]());

    it("serves the guide's IDE over ssh: text frames, 32-bit ids, an empty folder, a merge with local commits", async () => {
      covers("run.connection.upgrade", "run.connection.json-rpc", "run.connection.token");
      covers("run.new.create", "run.new.cwd", "run.ide.fetch", "run.ide.merge");
      covers("run.target.url", "run.target.branch", "run.target.revision", "run.target.responses");
      const project = run.project("ide", "ssh");
      const { acp, authorization } = await run.address();
      // Remote run guide, "Connection": the raw token, and no subprotocol.
      const socket = new WebSocket(acp, { headers: { authorization }, ...trust });
      await once(socket, "open");
      const messages: Json[] = [];
      socket.on("message", (data: Buffer, isBinary: boolean) => {
        assert.equal(isBinary, false, "a frame that is not text");
        messages.push(JSON.parse(data.toString("utf8")));
      });
      let lastId = 2 ** 31 - 6;
      const ask = async (method: string, params: object): Promise<Json> => {
        const id = ++lastId;
        socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
        const giveUp = AbortSignal.timeout(300_000);
        for (;;) {
          const answer = messages.find((each) => each.id === id && each.method === undefined);
          if (answer !== undefined) {
            assert.equal(answer.error, undefined, JSON.stringify(answer.error));
            return answer.result;
          }
          await once(socket, "message", { signal: giveUp });
        }
      };
      await ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
      const { sessionId, _meta: begun } = await ask("session/create", openingOf(project));
      assert.equal(begun.target.url, project.url);
      assert.match(begun.target.branch, /^agent\/[a-z0-9]+$/);
      assert.equal(begun.target.revision, project.revision);
      const isUpdate = ({ method }: Json): boolean => method === "session/update";
      const begunAt = messages.findIndex(({ id }) => id === lastId);
      assert.ok(!messages.slice(0, begunAt).some(isUpdate), "an update before the answer");
      const end = await ask("session/prompt", promptOf(String(sessionId), "put new.txt|new|0"));
      assert.equal(end.stopReason, "end_turn");
      const { url, branch, revision } = end._meta.target;
      assert.deepEqual([url, branch], [project.url, begun.target.branch]);
      assert.equal(end._meta.trunkline.run, "pushed");
      for (const method of ["session/resume", "session/load"]) {
        const again = await ask(method, { sessionId, cwd: "", mcpServers: [] });
        assert.deepEqual(again._meta.target, { url, branch, revision }, method);
      }

      // Meanwhile the person has committed something.
      writeFileSync(join(project.clone, "own.txt"), "own\n");
      const who = ["-c", "user.name=Ida", "-c", "user.email=ida@example.com"];
      project.git("add", ".");
      project.git(...who, "commit", "--quiet", "--message", "Own");
      await run.fetch(project, branch);
      assert.equal(project.git("rev-parse", "FETCH_HEAD"), revision);
      project.git(...who, "merge", "--quiet", "--no-edit", "FETCH_HEAD");
      for (const file of ["new.txt", "own.txt"]) {
        assert.equal(readFileSync(join(project.clone, file), "utf8"), `${file.slice(0, 3)}\n`);
      }
      socket.terminate();
    });

    it("can be started from a terminal, and ends with the branch", async () => {
      const project = run.project("terminal");
      const task = "run w|sh|-c|printf 'a\\nb\\n' > new.txt";
      await using program = new Program(["run", project.clone, task], {
        env: run.rig.env as Record<string, string>,
      });
      assert.equal(await program.exit, 0, program.stderr);
      const branch = program.lines.at(-1) ?? "";
      assert.match(branch, /^agent\/[a-z0-9]+$/);
      assert.match(program.lines.join("\n"), /new\.txt \| +2 \+\+\n 1 file changed, 2 lines added/);
      assert.equal(project.git("--git-dir", project.bare, "show", `${branch}:new.txt`), "a\nb");
    });

    it("has the submodules of the same owner in the sandbox, each as a repository with its history", async () => {
      const [library, project] = ["library", "with-library"].map((name) => run.project(name));
      const modules = '[submodule "lib"]\n\tpath = lib\n\turl = ../library.git\n';
      writeFileSync(join(project!.clone, ".gitmodules"), modules);
      project!.git("add", ".gitmodules");
      project!.git("update-index", "--add", "--cacheinfo", `160000,${library!.revision},lib`);
      project!.git("-c", "user.name=Ida", "-c", "user.email=ida@example.com", "commit", "-qm", "x");
      project!.git("push", "--quiet", project!.bare, "HEAD:main");
      const steps = [
        "cat lib/README.md > new.txt",
        "git -C lib log --format=%s -1 >> new.txt",
        "git status --short --ignore-submodules=none >> new.txt",
        "touch lib/own",
        "rm lib/own",
      ];
      const task = `run w|sh|-c|${steps.join(" && ")}`;
      await using program = new Program(["run", project!.clone, task], {
        env: run.rig.env as Record<string, string>,
      });
      assert.equal(await program.exit, 0, program.stderr);
      const branch = program.lines.at(-1) ?? "";
      const found = project!.git("--git-dir", project!.bare, "show", `${branch}:new.txt`);
      assert.equal(found, "hello again from library\nhello again\n?? new.txt");
    });

    it("has the variables of a devcontainer, but none that lead programs elsewhere, and the repository's limits", async () => {
      const project = run.project("small");
      const containerEnv = {
        DATABASE: "postgres://127.0.0.1",
        LD_PRELOAD: "/evil",
        NODE_OPTIONS: "-r x",
      };
      writeFileSync(join(project.clone, ".devcontainer.json"), JSON.stringify({ containerEnv }));
      project.git("add", ".devcontainer.json");
      project.git("-c", "user.name=Ida", "-c", "user.email=ida@example.com", "commit", "-qm", "x");
      project.git("push", "--quiet", project.bare, "HEAD:main");
      const eat = "node -e 'Buffer.alloc(400*1024*1024,1)'; echo $?";
      const print = "printenv DATABASE; printenv LD_PRELOAD NODE_OPTIONS";
      const task = `run w|sh|-c|(${print}; ${eat}) > new.txt`;
      await using program = new Program(["run", project.clone, task], {
        env: run.rig.env as Record<string, string>,
      });
      assert.equal(await program.exit, 0, program.stderr);
      const branch = program.lines.at(-1) ?? "";
      const found = project.git("--git-dir", project.bare, "show", `${branch}:new.txt`);
      const [database, ...more] = found.split("\n");
      assert.equal(database, "postgres://127.0.0.1");
      // Only who may make control groups can limit memory; `doctor` says where that is so.
      assert.deepEqual(more, [isBounded ? "137" : "0"], "its memory was limited");
    });

    it("has the services of the repository in its network, which end with it", async () => {
      const project = run.project("served");
      const ask = `until node -e 'fetch("http://127.0.0.1:8765").then((r) => r.text()).then(console.log)' >> new.txt 2> /dev/null; do sleep 0.1; done`;
      const task = `run w|sh|-c|${ask}; cat ~/services/database.log >> new.txt`;
      await using program = new Program(["run", project.clone, task], {
        env: run.rig.env as Record<string, string>,
      });
      assert.equal(await program.exit, 0, program.stderr);
      const branch = program.lines.at(-1) ?? "";
      const found = project.git("--git-dir", project.bare, "show", `${branch}:new.txt`);
      assert.equal(found, "42\nup");
      const left = processesWhere(({ command }) => command.includes('r.end("42")'));
      assert.deepEqual(left, []);
    });

    it("works in a folder without a remote, and leaves the branch there", async () => {
      const project = run.project("alone", "ssh");
      project.git("remote", "remove", "origin");
      const command = [process.execPath, AGENT];
      const set = `agents.s=${JSON.stringify({ command: command[0], args: command.slice(1) })}`;
      const args = ["run", ".", "put new.txt|new|0", "--agent", "s", "--set", set];
      await using program = new Program(args, { cwd: project.clone });
      assert.equal(await program.exit, 0, program.stderr);
      const branch = program.lines.at(-1) ?? "";
      assert.match(branch, /^agent\//);
      assert.equal(project.git("show", `${branch}:new.txt`), "new");
      assert.equal(project.git("status", "--porcelain"), "");
      // Another's machine could not fetch from here.
      const far = ["run", ".", "x", "--url", "wss://example.invalid/acp"];
      await using elsewhere = new Program(far, { cwd: project.clone });
      assert.equal(await elsewhere.exit, 1);
      assert.match(elsewhere.stderr, /has no remote, and a server cannot fetch from here/);
    });

    it("shows what has come of it to whoever began it, over the network and without its paths", async () => {
      const project = run.project("results");
      const { acp } = await run.address();
      const tokens = new Map<string, string>();
      for (const name of ["laptop", "other"]) {
        const created = await run.rig.must(
          `trunkline token create ${name} --scope sessions --json`,
        );
        tokens.set(name, (JSON.parse(created) as { token: string }).token);
      }
      const ca = join(run.rig.root, "server-ca.pem");
      // Another machine: it has neither the data folder nor the owner's token.
      const far = async (args: readonly string[], who = "laptop", cwd = project.clone) => {
        const env = { TRUNKLINE_TOKEN: tokens.get(who) ?? "", NODE_EXTRA_CA_CERTS: ca };
        await using program = new Program([...args, "--url", acp], { env, cwd });
        const exit = await program.exit;
        return { exit, text: `${program.lines.join("\n")}\n`, stderr: program.stderr };
      };
      const begun = await far([
        "run",
        project.url,
        "put new.txt|new|0",
        "--json",
        "--revision",
        project.revision,
      ]);
      assert.equal(begun.exit, 0, begun.stderr);
      const { session, target } = JSON.parse(begun.text);
      const shown = await far(["run", "show", session]);
      assert.match(shown.text, new RegExp(`repository +${project.url}\n`), shown.stderr);
      assert.match(shown.text, new RegExp(`pushed +${target.revision.slice(0, 12)}`));
      assert.match(shown.text, /state +pushed\n[^]*new\.txt +\+1 +-0\n/);
      const log = await far(["run", "log", session.slice(0, 8)]);
      assert.match(log.text, /Pushed agent\/\w+ at /, log.stderr);
      assert.match((await far(["run", "diff", session])).text, /^\+new$/m);
      for (const { text } of [shown, log]) assert.ok(!text.includes(run.rig.root), text);
      const patch = await far(["run", "patch", session]);
      writeFileSync(join(project.clone, "run.patch"), patch.text);
      project.git("apply", "run.patch");
      assert.equal(readFileSync(join(project.clone, "new.txt"), "utf8"), "new\n");
      const refused = await far(["run", "patch", session], "other");
      assert.deepEqual([refused.exit, refused.text], [1, "\n"]);
      assert.match(refused.stderr, /There is no session/);
      // On the server itself nothing needs to run.
      const here = await run.rig.must(`trunkline run show ${session} --json`);
      assert.equal(JSON.parse(here).row.target, target.branch);
      const details = await run.rig.must(`trunkline session show ${session}`);
      assert.match(details, new RegExp(`repository +${project.url}\nbranch +${target.branch}\n`));
      // A folder of that name is one, whatever is asked for.
      const folder = await far(["run", "show", "Explain the files"]);
      assert.match(folder.stderr, /There is no folder 'show'/);
    });

    it("refuses clients without a token, or with a wrong one", async () => {
      covers("run.connection.refused");
      const { acp, authorization } = await run.address();
      const allowed = { headers: { authorization: `Bearer ${authorization}` }, ...trust };
      const connected = new WebSocket(acp, allowed);
      await once(connected, "open");
      connected.terminate();
      // An entry without a token has `"token": ""` in the guide's example.
      const refused = [{}, { authorization: "" }, { authorization: "tlk_other" }];
      for (const headers of refused) {
        const socket = new WebSocket(acp, { headers, ...trust });
        const [, response] = await once(socket, "unexpected-response");
        assert.equal(response.statusCode, 401);
        socket.on("error", () => {});
        socket.terminate();
      }
    });
  },
);
