// Long: every command of the documents.
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { PROGRAM } from "../../src/cli/commands.ts";
import { run as runHere } from "../../src/cli/program.ts";
import { parse } from "../../src/cli/shell/parse.ts";
import { defaultConfig } from "../../src/config/config.ts";
import { pluginSandboxStatus } from "../../src/sandbox/open/local-sandbox-status.ts";
import { allPaths, endOf } from "../../src/cli/shell/command.ts";
import { seeded } from "../fuzz/fuzz-run.ts";
import { freePort } from "../support/free-port.ts";
import { oneIn } from "../support/full-run.ts";

const ROOT = join(import.meta.dirname, "../..");

/** A project of its own to stand in, and `trunkline` on the path. */
const home = mkdtempSync(join(tmpdir(), "trunkline-docs-"));
const project = join(home, "project");
mkdirSync(join(project, "src"), { recursive: true });
for (const folder of ["bin", ".zfunc", ".config/fish/completions"]) {
  mkdirSync(join(home, folder), { recursive: true });
}
for (const file of [".trunkline.jsonc", "team.jsonc"]) {
  writeFileSync(join(project, file), '{ "log": { "level": "warn" } }\n');
}
/** A repository with a change in it, of somebody whom the configuration knows. */
writeFileSync(join(project, "src/main.go"), "package main\n");
writeFileSync(join(project, "eslint.sarif"), '{ "version": "2.1.0", "runs": [] }');
for (const args of [
  ["init", "-q"],
  ["remote", "add", "origin", "git@github.com:acme/app.git"],
  ["add", "src"],
  ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", "Begin"],
]) {
  execFileSync("git", args, { cwd: project, env: { ...process.env, HOME: home } });
}
writeFileSync(join(project, "src/main.go"), `package main\n\nfunc main() {}\n${"\n".repeat(60)}`);
writeFileSync(join(project, "a.go"), "package main\n\nvar a = 1\n");
writeFileSync(join(project, "better.txt"), "var b = 1\n");
const identityOf = (user: string) => ({ provider: "github", user, email: `${user}@example.com` });
/** As README.md has it. */
const program = join(home, "bin/trunkline");
symlinkSync(join(ROOT, "scripts/trunkline"), program);

const ENV = { PATH: `${join(home, "bin")}:${process.env.PATH ?? ""}`, HOME: home };

/** A bus with a plugin, for the commands that look at one. */
const bus = { port: await freePort(), plugin: join(project, "greet.mjs") };
mkdirSync(join(project, "node_modules"));
symlinkSync(ROOT, join(project, "node_modules/trunkline"));
writeFileSync(
  bus.plugin,
  `import { definePlugin } from "trunkline/plugin";
  const input = { type: "object" };
  const greet = { description: "Greets", input, call: () => "Hello" };
  definePlugin({ id: "tools.greet", version: "1.0.0", tools: { greet } });`,
);
const NOTES = { command: process.execPath, args: [join(ROOT, "test/support/notes-server.mjs")] };
const config = {
  mcpServers: {
    notes: { ...NOTES, env: { NOTES_INSTRUCTIONS: "Read a note before you write one." } },
    // In place of the server that the documents add under this name, which would be downloaded.
    files: NOTES,
  },
  agents: {
    helper: { command: process.execPath, args: [join(ROOT, "test/support/acp-agent.mjs")] },
  },
  notifications: [{ name: "bell", command: ["true"] }],
  profiles: { reading: { servers: { allow: ["notes"] } } },
  identities: {
    work: { ...identityOf("ada"), organizations: ["acme"] },
    old: identityOf("lovelace"),
  },
};
mkdirSync(join(home, ".config/trunkline"), { recursive: true });
writeFileSync(join(home, ".config/trunkline/config.jsonc"), JSON.stringify(config));
/** The same with a bus. A plugin is three processes, so only commands that are about one get it. */
const WITH_BUS = { TRUNKLINE_CONFIG: join(home, "with-bus.jsonc") };
writeFileSync(
  WITH_BUS.TRUNKLINE_CONFIG,
  JSON.stringify({
    ...config,
    bus: {
      listen: `localhost:${bus.port}`,
      plugins: { "tools.greet": { command: process.execPath, args: [bus.plugin] } },
    },
  }),
);
writeFileSync(join(project, "plugins.yaml"), "plugins: []\n");
/** What needs more than a document can bring: an account, a secret, a person, a thread that is there. */
const SHOWN_ELSEWHERE = [
  // test/e2e/identity-{validate,signing,tools,guard}.test.ts
  /\bidentity (?:validate|token|gpg|guard check)\b/,
  // test/e2e/identity-credential.test.ts
  /\bidentity (?:exec|clone)\b/,
  // test/e2e/review.test.ts
  /\breview (?:add|watch)$|\br7k2mq\b/,
  // src/cli/review/pull-request.test.ts
  /\breview (?:import|export) (?:--git(?:hub|lab)|https:)/,
  // The name alone, in a list: it takes a file or a pull request
  /\breview import$/,
  // test/e2e/setup.test.ts: its exit code says what this machine has
  /^trunkline setup$/,
  // test/e2e/access-login.test.ts
  /^trunkline open\b/,
  // test/e2e/remote-run.test.ts
  /^trunkline run /,
  // test/e2e/demo.test.ts
  /^trunkline demo\b/,
  // test/e2e/chat.test.ts, chat-terminal.test.ts
  /^trunkline chat(?: --plain| --worktree)?$/,
  // src/setup/service/service.test.ts: where tests run, there may be no service manager
  /^trunkline service (?:install$|status)/,
  // test/e2e/bus.test.ts
  /\bplugin test\b/,
  // src/cli/plugin/plugin.test.ts: it takes a person
  /\bplugin approve\b/,
  // src/plugin/open/dev-plugin.test.ts: it runs until it is stopped
  /\bplugin dev\b/,
  // src/agent/models/model-commands.test.ts
  /\bmodel key\b/,
  // test/e2e/fleet.test.ts: it takes a NATS server
  /\bworker(?:$| --| list| drain)|\bserve --bus\b/,
  // test/interop/oauth-login.test.ts: it takes an authorization server, and a person
  /\bserver log(?:in|out)\b/,
];

const { state } = await pluginSandboxStatus(defaultConfig("/nowhere"));
// src/cli/plugin/plugin.test.ts: without a sandbox a plugin is not asked what it is
if (state !== "ok") SHOWN_ELSEWHERE.push(/\bplugin (?:add|mcp|remove) (?!.*--allow-everything)/);

const SERVING = /^(?:[A-Z_]+=\S+ )*trunkline (?:serve|orchestrator)\b/;

/** What looks at, or takes back, what another command did. */
const AFTER: Readonly<Record<string, string>> = {
  "trunkline identity undo": "trunkline identity switch work",
  "trunkline identity guard status": "trunkline identity guard install",
  "trunkline config unset log.level": "trunkline config set log.level debug",
  "trunkline server remove files":
    "trunkline server add files -- npx -y @modelcontextprotocol/server-filesystem .",
  "trunkline model remove local": "trunkline model add local --base-url http://127.0.0.1:8000/v1",
  "trunkline plugin remove tools.greet": "trunkline plugin add ./greet.mjs",
  "trunkline agent remove gemini": "trunkline agent add gemini -- gemini --acp",
};

/**
 * What needs a process: it ends by a signal, reads its input, or looks after processes. All others
 * run in this one, which takes a tenth of the time; that the built program starts is shown by these.
 */
const NEEDS_PROCESS =
  /[|<>&]|^[A-Z]|^trunkline (?:--mode|mcp|acp|lsp|serve|orchestrator|chat|doctor|service install|setup jetbrains --remote)\b/;

/** Of the commands that need a process one in so many, in `npm test`: others each day. */
const PART = 6;

describe("every command in the documents", { timeout: 600_000 }, () => {
  let orchestrator: ChildProcess | undefined;
  before(async () => {
    Object.assign(process.env, ENV);
    const env = { ...ENV, ...WITH_BUS };
    orchestrator = spawn(program, ["orchestrator", "--json"], { env, cwd: project });
    if (orchestrator.stdout !== null) await once(orchestrator.stdout, "data");
  });
  after(async () => {
    orchestrator?.kill();
    if (orchestrator !== undefined) await once(orchestrator, "exit");
    rmSync(home, { recursive: true });
  });

  const commands = [...new Set([...mentioned(), ...examples()])]
    .filter(isComplete)
    .filter((command) => !SHOWN_ELSEWHERE.some((shown) => shown.test(command)));

  it("is found", () => {
    assert.ok(commands.length >= 15, `only found: ${commands.join("; ")}`);
  });

  const needsProcess = (command: string): boolean => NEEDS_PROCESS.test(command);

  async function succeeds(command: string): Promise<void> {
    const first = AFTER[command];
    const env = environmentOf(command);
    for (const each of first === undefined ? [command] : [first, command]) {
      const { code, err } = await (needsProcess(each) ? start(each, env) : run(each, env));
      assert.equal(code, 0, `${each}: ${err}`);
    }
  }

  for (const command of commands.filter((each) => !needsProcess(each))) {
    it(`succeeds: ${command}`, () => succeeds(command));
  }

  it("succeeds as a program of its own", async (t) => {
    const isTried = oneIn(PART, seeded(t));
    const programs = commands.filter(needsProcess);
    for (const command of programs.filter((_, place) => isTried(place))) {
      t.diagnostic(command);
      await succeeds(command);
    }
  });
});

/** What stands in backticks in README.md and docs/, and on lines of their own in examples. */
function mentioned(): string[] {
  const files = ["README.md", "CONTRIBUTING.md", ...globSync("docs/**/*.md", { cwd: ROOT })];
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), "utf8");
    const found = text.matchAll(/`((?:[A-Z_]+=\S+ )*trunkline [^`]+)`/g);
    const lines = text.matchAll(/^((?:[A-Z_]+=\S+ )*trunkline .*?)(?: +#.*)?$/gm);
    return Array.from([...found, ...lines], ([, command = ""]) => command);
  });
}

/** What the help shows. Lines that begin with another program's name are that program's. */
function examples(): string[] {
  const all = [...allPaths([PROGRAM])].flatMap((path) => Object.keys(endOf(path).examples));
  return all.filter((line) => /^(?:[A-Z_]+=\S+ )*trunkline /.test(line));
}

/** A name in capitals stands for something; the name of a group alone is only spoken of. */
function isComplete(command: string): boolean {
  const words = command
    .replace(/^(?:[A-Z_]+=\S+ )*trunkline /, "")
    .replace(/ (?:\d?>|\||&&).*$/, "");
  if (/\[|\$\(|(?:^|[\s=])[A-Z]{3,}\b|…|'|~/.test(words)) return false;
  const { kind } = parse(wordsOf(words), PROGRAM);
  return kind !== "no-command" && kind !== "misuse";
}

function wordsOf(text: string): string[] {
  const quoted = text.match(/"[^"]*"|\S+/g) ?? [];
  return quoted.map((word) => word.replaceAll('"', ""));
}

let edits = 0;

function environmentOf(command: string): Record<string, string> {
  // The usual port may be somebody's who works on this machine, and there is a bus already.
  const port = { TRUNKLINE_SERVE_PORT: "0" };
  const busPort = { TRUNKLINE_BUS_LISTEN: "localhost:0" };
  // What is added is not started by the commands that follow: they would download it.
  const isEditing =
    /trunkline (?:config (?:un)?set|(?:server|agent|plugin|model) (?:add|remove)) /.test(command);
  const own = { TRUNKLINE_CONFIG: join(home, `edited-${edits++}.jsonc`) };
  const isOnBus = /trunkline (?:(?:plugin|orchestrator)\b|doctor$)/.test(command);
  return {
    ...ENV,
    ...(isOnBus ? WITH_BUS : {}),
    ...(SERVING.test(command) || /\bdoctor\b/.test(command) ? port : {}),
    ...(SERVING.test(command) ? busPort : {}),
    ...(isEditing ? own : {}),
    // There is no model here.
    ...(/trunkline chat\b/.test(command) ? { TRUNKLINE_AGENT: "helper" } : {}),
  };
}

interface Ended {
  readonly code: unknown;
  readonly err: string;
}

/** Runs a command in this process. */
async function run(command: string, env: Record<string, string>): Promise<Ended> {
  const [, ...args] = wordsOf(command);
  let err = "";
  const code = await runHere(args, {
    env,
    cwd: () => project,
    exit: (status) => assert.fail(`It exited with ${status}`),
    stdout: { write: () => true, on: () => undefined },
    stderr: { write: (text) => (err += String(text)), on: () => undefined },
  });
  return { code, err };
}

/** Runs a command as a shell does. */
async function start(command: string, env: Record<string, string>): Promise<Ended> {
  const child = spawn("bash", ["-c", command], { env, cwd: project });
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  // A gateway runs until it is stopped, and has said something by then.
  child.stdout.once("data", () => {
    if (SERVING.test(command)) child.kill("SIGINT");
  });
  child.stdout.resume();
  child.stdin.end();
  const [code] = (await once(child, "close")) as [unknown];
  return { code, err };
}
