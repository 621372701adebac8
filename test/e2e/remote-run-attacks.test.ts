import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { runFromShell } from "../support/run-from-shell.ts";
import { probeSandbox } from "../../src/sandbox/probe.ts";
import { AcpSocket } from "../support/acp-socket.ts";
import { GitRig } from "../support/git-rig/git-rig.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";
import { covers } from "../support/requirement.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
/** Of this file alone: other tests run meanwhile, and all processes are looked at. */
const PASSPHRASE = "a passphrase for tests";
const GIT_TOKEN = `token-of-alice-${crypto.randomUUID()}`;
const MODEL_KEY = "key-of-the-model-0123456789";
const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

/** Everything in the agent's repository that could make git run a program. */
const PLANT = `
trap=$PWD/trap.sh
git config user.name Mallory; git config user.email mallory@example.com
git config core.fsmonitor "$trap"
git config core.hooksPath "$PWD/.husky"
git config filter.evil.clean "$trap"; git config filter.evil.required true
git config diff.external "$trap"; git config credential.helper "$trap"
git config core.sshCommand "$trap"; git config gpg.program "$trap"
echo '*.txt filter=evil diff=evil merge=evil' > .gitattributes
echo planted > planted.txt
git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c filter.evil.clean=cat add --all
git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c filter.evil.clean=cat commit -qm "Mine"
git config include.path "$PWD/evil.inc"
`;

const NEST = `
git init -q nested
cd nested
git config core.fsmonitor "$OLDPWD/trap.sh"
git -c user.name=m -c user.email=m@example.com commit -q --allow-empty -m x
`;

describe("a hostile agent", { timeout: 600_000, skip: WITHOUT_SSHD || noSandbox }, () => {
  let rig: GitRig;
  let server: Program;
  let connect: () => Promise<AcpSocket>;
  let bare: string;
  let remote: { url: string; branch: string; revision: string };
  const sprung = (): boolean => existsSync(join(rig.root, "sprung"));

  before(async () => {
    rig = await GitRig.start();
    rig.env.TRUNKLINE_TOKEN_KEY = PASSPHRASE;
    rig.forge.tokens.set(GIT_TOKEN, { account: "alice" });
    const agents = { scripted: { command: process.execPath, args: [AGENT] } };
    const identities = rig.identities({
      alice: { host: rig.forge.host, match: [{ remote: `https://${rig.forge.host}/*` }] },
    });
    rig.configure({ agents, remote: { allowPrivate: true }, identities });
    await rig.must("trunkline identity token set alice", { input: `${GIT_TOKEN}\n` });
    rig.makeRepository("team/app");
    bare = join(rig.root, "repositories/team/app.git");
    const url = rig.httpsUrl("team/app");
    const clone = rig.makeClone("app", url);
    // Only the server could write there: the folder is not in the sandbox.
    const trap = `#!/bin/sh\ntouch '${rig.root}/sprung'\ncat\n`;
    mkdirSync(join(clone, ".husky"));
    for (const name of ["pre-commit", "commit-msg", "pre-push", "reference-transaction"]) {
      writeFileSync(join(clone, ".husky", name), trap, { mode: 0o755 });
    }
    writeFileSync(join(clone, "trap.sh"), trap, { mode: 0o755 });
    writeFileSync(join(clone, "plant.sh"), PLANT);
    writeFileSync(join(clone, "nest.sh"), NEST);
    const git = (...args: string[]): string =>
      runFromShell("git", ["-C", clone, ...args], { env: rig.env }).trim();
    git("add", ".");
    git("-c", "user.name=Ida", "-c", "user.email=ida@example.com", "commit", "-qm", "Begin");
    git("push", "--quiet", bare, "HEAD:main");
    remote = { url, branch: "main", revision: git("rev-parse", "HEAD") };
    const env = { ...rig.env, ANTHROPIC_API_KEY: MODEL_KEY } as never;
    server = new Program(["serve", "--port", "0", "--json"], { env });
    await server.until(({ lines }) => lines.length > 0);
    const { acp, tokenFile } = readyOf(JSON.parse(server.lines[0] ?? ""));
    const authorization = readFileSync(tokenFile, "utf8");
    connect = () => AcpSocket.connect(`${acp}?agent=scripted`, { authorization });
  });

  after(async () => {
    server.child.kill();
    await server.exit;
    await server[Symbol.asyncDispose]();
    await rig[Symbol.asyncDispose]();
  });

  async function open(): Promise<{ ide: AcpSocket; run: Shell; workspace: string }> {
    const ide = await connect();
    const opening = { cwd: "", mcpServers: [], _meta: { remote } };
    const { sessionId, _meta } = await ide.ask("session/new", opening);
    const run: Shell = async (...command) => {
      const from = ide.text.length;
      const prompt = [{ type: "text", text: `run w|${command.join("|")}` }];
      const end = await ide.ask("session/prompt", { sessionId, prompt });
      return { said: ide.text.slice(from), ...end._meta };
    };
    return { ide, run, workspace: _meta.target.branch.replace("agent/", "") };
  }

  it("cannot make the server run a planted program, or push the agent's own commits", async () => {
    covers("run.new.method");
    const { ide, run, workspace } = await open();
    using _ = ide;
    const end = await run("sh", "plant.sh");
    assert.equal(end.trunkline.run, "pushed", end.said);
    const branch = `agent/${workspace}`;
    const inBare = (...args: string[]): string =>
      runFromShell("git", ["--git-dir", bare, ...args]).trim();
    assert.equal(inBare("show", `${branch}:planted.txt`), "planted");
    assert.equal(inBare("rev-parse", `${branch}^`), remote.revision);
    assert.doesNotMatch(inBare("log", "--format=%an %s", branch), /Mallory|Mine/);
    const nested = await run("sh", "nest.sh");
    assert.equal(nested.trunkline.run, "refused");
    assert.match(nested.said, /'nested\/': it is a git repository of its own/);
    // A second turn: git compares the index with the nested repository only then.
    assert.equal((await run("true")).trunkline.run, "refused");
    assert.ok(!sprung(), "the server ran what the agent had planted");
  });

  it("finds no git credentials, neither in the sandbox nor outside while the server pushes", async () => {
    const { ide, run } = await open();
    using _ = ide;
    const seen = join(rig.root, "processes");
    const look = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ";
    const hook = join(bare, "hooks/pre-receive");
    writeFileSync(hook, `#!/bin/sh\n${look} > '${seen}' 2>/dev/null\nexit 0\n`);
    chmodSync(hook, 0o755);
    const inside = await run("sh", "-c", `echo x > new.txt; env; ${look}; cat ~/.gitconfig`);
    assert.equal(inside.trunkline.run, "pushed", inside.said);
    const outside = readFileSync(seen, "utf8");
    assert.match(outside, /push\0--quiet\0--no-verify/, "it was looked while git pushed");
    for (const [where, text] of Object.entries({ inside: inside.said, outside })) {
      assert.ok(!text.includes(GIT_TOKEN), where);
    }
    const grep = `grep -rl '${GIT_TOKEN}' '${rig.root}/data' || true`;
    assert.equal(execFileSync("sh", ["-c", grep], { encoding: "utf8" }), "");
  });

  it("finds no model key, no other session, and no network", async () => {
    const one = await open();
    const other = await open();
    using _one = one.ide;
    using _other = other.ide;
    const { said: mine } = await one.run("sh", "-c", "echo of-one > secret; id -u; pwd");
    const work = join(rig.root, "data/run/work");
    assert.match(mine, new RegExp(join(work, one.workspace)));
    const fetching = `fetch("http://refused.example/").then((it) => it.text()).then(console.log)`;
    const { said } = await other.run(
      "sh",
      "-c",
      [
        "id -u",
        "env; cat /proc/[0-9]*/environ",
        `ls ${work}; cat ${join(work, one.workspace, "tree/secret")}; ls ${rig.root}/data`,
        `touch "$(cat .git/objects/info/alternates)/x" && echo WRITTEN`,
        `cat /etc/shadow; kill -0 ${server.child.pid} && echo KILLED`,
        "unshare -U true && echo UNSHARED",
        `${process.execPath} -e '${fetching}'`,
      ].join("; "),
    );
    assert.match(said, /ANTHROPIC_API_KEY=added-by-the-proxy/);
    assert.ok(!said.includes(MODEL_KEY));
    assert.ok(!said.includes(PASSPHRASE), "the key of the token store");
    assert.doesNotMatch(said, /of-one|WRITTEN|root:|KILLED|UNSHARED|gateway|tokens/);
    if (process.getuid?.() === 0) {
      const idOf = (text: string): string => /"output":"(\d+)/.exec(text)?.[1] ?? text;
      assert.notEqual(idOf(mine), idOf(said));
      assert.ok(Number(idOf(said)) > 1_000_000_000, said);
    }
    const told =
      /A connection was refused: 'refused\.example' is not .*`remote\.egress\.allowHosts`/;
    assert.match(other.ide.text, told);
  });

  it("has no sandbox if the option for that is used, with a warning", async () => {
    const args = ["serve", "--port", "0", "--json", "--unsafe-no-sandbox"];
    await using unsafe = new Program(args);
    await unsafe.until(({ lines }) => lines.length > 0);
    assert.match(unsafe.stderr, /warning: --unsafe-no-sandbox: .* CAN DO WHATEVER YOU CAN/);
    unsafe.child.kill();
    await unsafe.exit;
    const elsewhere = ["run", ".", "x", "--unsafe-no-sandbox", "--url", "wss://example.com/acp"];
    await using refused = new Program(elsewhere);
    assert.equal(await refused.exit, 2);
    assert.match(refused.stderr, /the server at --url decides about its sandbox/);
  });
});

/** Runs a command in the session's sandbox. */
type Shell = (
  ...command: string[]
) => Promise<{ readonly said: string; readonly trunkline: { readonly run: string } }>;
