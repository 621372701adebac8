import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";

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
const SECRET = "secret-for-setup-0123456789";
const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

/** A set-up with a new result each time it runs, and with files that must not be kept. */
const COMMAND = [
  "mkdir deps",
  "cat /proc/sys/kernel/random/uuid > deps/id",
  "pwd > deps/where",
  "echo mine > ~/.tool && echo ~ >> ~/.tool",
  'echo "token $SETUP_TOKEN" | tee deps/token',
  "echo changed > notes",
  "echo new > new",
].join(" && ");

describe(
  "the environment of a remote run",
  { timeout: 600_000, skip: WITHOUT_SSHD || noSandbox },
  () => {
    let rig: GitRig;
    let server: Awaited<ReturnType<typeof serve>>;

    before(async () => {
      rig = await GitRig.start();
      rig.forge.tokens.set(TOKEN, { account: "alice" });
      configure({});
      await rig.must("trunkline identity token set alice", { input: `${TOKEN}\n` });
      server = await serve();
    });

    after(async () => {
      await server.end("SIGTERM");
      await rig[Symbol.asyncDispose]();
    });

    function configure(more: object): void {
      const match = [{ remote: `https://${rig.forge.host}/*` }];
      const setup = {
        from: ["script"],
        repositories: {
          "*/team/app": { command: COMMAND, secrets: ["SETUP_TOKEN"] },
          "*/team/broken": {
            command: 'echo "cannot do it: $SETUP_TOKEN"; exit 7',
            secrets: ["SETUP_TOKEN"],
          },
          "*/team/slow": more,
        },
      };
      rig.configure({
        agents: { scripted: { command: process.execPath, args: [AGENT] } },
        remote: { allowPrivate: true, setup },
        identities: rig.identities({ alice: { host: rig.forge.host, match } }),
      });
    }

    async function serve(data = join(rig.root, "data")) {
      const env = { ...rig.env, SETUP_TOKEN: SECRET, TRUNKLINE_DATA: data } as Record<
        string,
        string
      >;
      const program = new Program(["serve", "--port", "0", "--json"], { env });
      await program.until(({ lines }) => lines.length > 0);
      const { acp, tokenFile } = readyOf(JSON.parse(program.lines[0] ?? ""));
      const authorization = readFileSync(tokenFile, "utf8");
      return {
        program,
        runs: join(data, "run"),
        connect: () => AcpSocket.connect(`${acp}?agent=scripted`, { authorization }),
        end: async (signal: NodeJS.Signals): Promise<void> => {
          program.child.kill(signal);
          await program.exit;
          await program[Symbol.asyncDispose]();
        },
      };
    }

    /** Commits files to a repository, and returns the commit. */
    function commit(name: string, files: Readonly<Record<string, string>>) {
      rig.makeRepository(name);
      const url = rig.httpsUrl(name);
      const clone = join(rig.root, "clones", name);
      if (!existsSync(clone)) rig.makeClone(name, url);
      const git = (...args: string[]): string =>
        runFromShell("git", ["-C", clone, ...args], { env: rig.env }).trim();
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(clone, path)), { recursive: true });
        writeFileSync(join(clone, path), text);
      }
      git("add", ".");
      git("-c", "user.name=Ida", "-c", "user.email=ida@example.com", "commit", "-qm", "More");
      git("push", "--quiet", join(rig.root, "repositories", `${name}.git`), "HEAD:main");
      return { url, branch: "main", revision: git("rev-parse", "HEAD") };
    }

    /** Runs one turn of a new session. Returns the output of the agent's command, and the session's messages. */
    async function turn(ide: AcpSocket, remote: object, line: string) {
      const opening = { cwd: "", mcpServers: [], _meta: { remote } };
      const { sessionId } = await ide.ask("session/new", opening);
      const seen = ide.messages.length;
      const prompt = [{ type: "text", text: `run w|sh|-c|${line}` }];
      const end = await ide.ask("session/prompt", { sessionId, prompt });
      const said = ide.messages
        .slice(seen)
        .map(({ params }) => params?.update?.content?.text ?? "")
        .join("");
      const { output } = JSON.parse(/\{"exit".*?\}(?=\n\n_|$)/s.exec(said)?.[0] ?? "{}") as {
        output?: { output: string };
      };
      return { sessionId, end, output: output?.output ?? "", text: ide.text };
    }

    const first = {
      ".gitignore": "deps\n",
      "README.md": "hello\n",
      notes: "",
      "package-lock.json": "1",
    };

    it("is built once for all sessions and revisions with the same lock files", async () => {
      const one = commit("team/app", first);
      using ide = await server.connect();
      const look =
        "cat deps/id deps/where /workspaces/app/deps/id; ls deps; id -u; stat -c %u deps/id; cat ~/.tool";
      const made = await turn(ide, one, `${look}; env; echo 1 > mine`);
      const [id = "", where, alias, ...rest] = made.output.split("\n");
      assert.match(id, /^[0-9a-f-]{36}$/);
      // It was built at the same path at which sessions see it, so paths in it stay valid.
      assert.equal(where, "/workspaces/app");
      assert.equal(alias, id);
      assert.deepEqual(rest.slice(0, 2), ["id", "where"]);
      assert.equal(rest[2], rest[3], "the agent owns the files");
      assert.deepEqual(rest.slice(4, 6), ["mine", "/home/agent"]);
      assert.ok(!made.output.includes(SECRET));
      // Only what the agent did is committed.
      assert.equal(made.end._meta.trunkline.run, "pushed");
      assert.deepEqual(made.end._meta.trunkline.changes, [{ path: "mine", added: 1, removed: 0 }]);
      assert.match(made.text, /Setting up the environment \(mkdir deps/);
      assert.match(made.text, /result of set-up: 'deps\/token' contains the secret SETUP_TOKEN\./);
      assert.match(made.text, /were undone: 'notes', 'new'\./);
      assert.match(made.text, /The environment is set up \(.*\): \d+\.\d s\./);
      const again = await turn(ide, one, "cat deps/id");
      assert.equal(again.output.trim(), id);
      const later = commit("team/app", { "README.md": "later\n" });
      const shared = await turn(ide, later, "cat deps/id; echo changed > README.md");
      assert.equal(shared.output.trim(), id);
      // The agent also owns the files that differ from the base.
      assert.equal(shared.end._meta.trunkline.run, "pushed");
      const other = commit("team/app", { "package-lock.json": "2" });
      assert.notEqual((await turn(ide, other, "cat deps/id")).output.trim(), id);
      assert.equal(ide.text.match(/Setting up the environment/g)?.length, 2);
      await server.program.says(/run\.setup-hit/);
      const found = execFileSync("sh", ["-c", `grep -rl '${SECRET}' '${rig.root}/data' || true`]);
      assert.equal(found.toString(), "");
      assert.deepEqual(globSync(join(server.runs, "work/setup*")), []);
    });

    it("is missing if set-up failed, which is reported with its log and can be retried", async () => {
      const remote = commit("team/broken", first);
      using ide = await server.connect();
      const { output, text } = await turn(ide, remote, "echo works; ls -a");
      assert.match(output, /^works\n/);
      assert.match(text, /could not be set up \(.*ended with 7 \(.*\ncannot do it: •••\n/);
      const [, id = ""] =
        /`trunkline run log` shows the whole log \(set-up (\S+)\)\./.exec(text) ?? [];
      const logs = globSync(join(server.runs, `layers/*/${id}.log`));
      assert.equal(logs.length, 1, text);
      const [log = ""] = logs;
      assert.equal(readFileSync(log, "utf8"), "cannot do it: •••\n");
      assert.equal(statSync(log).mode & 0o777, 0o600);
      const { mtimeMs } = statSync(log);
      await turn(ide, remote, "true");
      assert.match(ide.text, /ended with 7 \(\d+ s ago\)\. This session continues without it/);
      assert.equal(statSync(log).mtimeMs, mtimeMs);
      const args = ["run", remote.url, "say done", "--agent", "scripted", "--retry-setup"];
      await using program = new Program(args, {
        env: { ...rig.env, SETUP_TOKEN: SECRET },
      });
      assert.equal(await program.exit, 0, program.stderr);
      assert.match(program.lines.join("\n"), /Setting up the environment/);
      assert.notEqual(statSync(log).mtimeMs, mtimeMs);
    });

    it("is copied if there are no overlay mounts", async () => {
      const remote = commit("team/app", { ...first, "package-lock.json": "3" });
      // Mount options cannot contain a path with a comma.
      const data = join(rig.root, "da,ta");
      const env = { TRUNKLINE_DATA: data };
      await rig.must("trunkline identity token set alice", { input: `${TOKEN}\n`, env });
      const copying = await serve(data);
      try {
        using ide = await copying.connect();
        const look =
          "cat deps/id; stat -c %u deps/id; id -u; cat ~/.tool; echo x > ~/.tool; git status --porcelain";
        const [one, two] = [await turn(ide, remote, look), await turn(ide, remote, look)];
        const [id, owner, user, ...status] = one.output.trim().split("\n");
        assert.equal(owner, user);
        assert.deepEqual(status, ["mine", "/home/agent"]);
        assert.equal(two.output.split("\n")[0], id);
        assert.notEqual(two.output.split("\n")[1], owner);
      } finally {
        await copying.end("SIGTERM");
      }
    });

    it("is not used half-built after the server was killed", async () => {
      const script = "mkdir deps; echo begun > deps/begun; exec sleep 4567";
      const remote = commit("team/slow", { ...first, ".trunkline/setup.sh": script });
      const mounts = (): string[] =>
        readFileSync("/proc/self/mounts", "utf8")
          .split("\n")
          .filter((line) => line.includes(join(server.runs, "work/setup")));
      {
        using ide = await server.connect();
        ide.send("session/new", { cwd: "", mcpServers: [], _meta: { remote } });
        await until(() => globSync(join(server.runs, "work/setup*/tree/deps/begun")).length > 0);
        await server.end("SIGKILL");
      }
      configure({ timeout: 1_000 });
      server = await serve();
      using ide = await server.connect();
      const { output, text } = await turn(ide, remote, "ls -A");
      assert.match(output, /^README\.md$/m);
      assert.doesNotMatch(output, /^deps$/m);
      assert.match(text, /it was stopped after its timeout of 1 s/);
      await until(() => mounts().length === 0);
      await until(() => globSync(join(server.runs, "work/setup*")).length === 0);
      await until(() => globSync(join(server.runs, "users/of-setup*")).length === 0);
      const left = globSync(join(server.runs, "layers/*/*.new"));
      assert.deepEqual(left, []);
      const sleeping = execFileSync("sh", ["-c", "ps -eo args | grep '[s]leep 4567' || true"]);
      assert.equal(sleeping.toString(), "");
    });
  },
);
