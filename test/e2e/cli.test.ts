import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempDisposableSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import packageJson from "../../package.json" with { type: "json" };
import { Program } from "../support/program.ts";
import { type Ran, runInProcess } from "../support/run-in-process.ts";

const ROOT = join(import.meta.dirname, "../..");
const MAIN = join(ROOT, "src/cli/main.ts");

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the program as a person would, in a process of its own. */
async function trunkline(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const child = spawnProgram(args, env);
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    ended(child),
  ]);
  return { code, out, err };
}

/** Runs it in this process, which is far quicker. */
function inProcess(args: readonly string[]): Promise<Ran> {
  return runInProcess(args, { env: { PATH: process.env.PATH }, cwd: ROOT });
}

async function ended(child: ChildProcess): Promise<[code: number | null]> {
  return (await once(child, "close")) as [number | null];
}

function spawnProgram(args: readonly string[], env: NodeJS.ProcessEnv) {
  const { NO_COLOR: _, FORCE_COLOR: __, ...inherited } = process.env;
  return spawn(process.execPath, [MAIN, ...args], {
    cwd: ROOT,
    env: { ...inherited, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

test("the help command prints the same as --help", async () => {
  assert.deepEqual(await trunkline(["help"]), await trunkline(["--help"]));
  const path = ["config", "show"];
  assert.deepEqual(await inProcess(["help", ...path]), await inProcess([...path, "--help"]));
});

test("the program name alone prints the help", async () => {
  assert.deepEqual(await trunkline([]), await trunkline(["--help"]));
});

test("a group without its command prints the group's help to stderr and exits 2", async () => {
  const { code, out, err } = await trunkline(["config"]);
  assert.equal(code, 2);
  assert.equal(out, "");
  assert.match(err, /^Usage: trunkline config COMMAND/);
});

test("a mistake is explained in one line, with what to do, and exits 2", async (t) => {
  const mistakes = {
    sevre: "unknown command 'sevre'. Did you mean 'serve'?",
    "config shwo": "unknown command 'config shwo'. Did you mean 'config show'?",
    "help confg": "unknown command 'confg'. Did you mean 'config'?",
    "serve --prot 80": "unknown option '--prot' for 'trunkline serve'. Did you mean '--port'?",
    "serve --port": "option '--port' of 'trunkline serve' needs a value: --port PORT.",
    "serve now": "'trunkline serve' takes no arguments, but got 'now'.",
    "acp --dialect apc":
      "--dialect of 'trunkline acp' cannot be 'apc'. It is one of: auto, acp, juggler. Did you mean 'acp'?",
    "completion tcsh":
      "SHELL of 'trunkline completion' cannot be 'tcsh'. It is one of: bash, zsh, fish.",
    "config show --config=":
      "--config of 'trunkline config show' cannot be empty. Write --config FILE, or leave it out.",
    "session replay x --after q": "Cannot use 'q' for --after: give a whole number.",
    "plugin list --orchestrator-addr nonsense":
      "Cannot read the address 'nonsense'. Write it as HOST:PORT, quic://HOST:PORT or tls://HOST:PORT.",
    "--mode=lsp": "--mode of 'trunkline' cannot be 'lsp'. It is one of: mcp, acp.",
  };
  for (const [line, said] of Object.entries(mistakes)) {
    await t.test(line, async () => {
      const run = line === "sevre" ? trunkline : inProcess;
      const { code, out, err } = await run(line.split(" "));
      const [first, second, ...rest] = err.split("\n");
      assert.equal(first, `trunkline: ${said}`);
      assert.match(second ?? "", /^Run `trunkline.* --help` to see how it is used\.$/);
      assert.deepEqual(rest, [""]);
      assert.equal(out, "");
      assert.equal(code, 2);
    });
  }
});

test("--mode runs the command of that name", async () => {
  const mcp = await inProcess(["mcp", "--help"]);
  assert.deepEqual(await trunkline(["--mode=mcp", "--help"]), mcp);
  assert.deepEqual(await inProcess(["--mode", "mcp", "--help"]), mcp);
  const acp = await inProcess(["acp", "--help"]);
  assert.deepEqual(await inProcess(["--mode=acp", "--help"]), acp);
  assert.notDeepEqual(mcp, acp);
});

test("--version prints the version, with --json for programs", async () => {
  const plain = { code: 0, out: `trunkline ${packageJson.version}\n`, err: "" };
  assert.deepEqual(await trunkline(["--version"]), plain);
  assert.deepEqual(await trunkline(["-V"]), plain);
  const json = await trunkline(["--version", "--json"]);
  assert.equal(json.code, 0);
  assert.equal((JSON.parse(json.out) as { version: string }).version, packageJson.version);
});

test("there are no colours unless they are wanted", async () => {
  const escape = "\x1b";
  assert.ok(!(await trunkline(["--help"])).out.includes(escape));
  assert.ok(!(await trunkline(["config"])).err.includes(escape));
  assert.ok((await trunkline(["--help"], { FORCE_COLOR: "1" })).out.includes(escape));
  const both = { FORCE_COLOR: "1", NO_COLOR: "1" };
  assert.ok(!(await trunkline(["--help"], both)).out.includes(escape));
});

test("a closed stdout ends the program quietly", async () => {
  const child = spawnProgram(["help"], {});
  child.stdout.destroy();
  const [err, [code]] = await Promise.all([text(child.stderr), ended(child)]);
  assert.equal(err, "");
  assert.equal(code, 0);
});

const noFullDisk = existsSync("/dev/full") ? false : "there is no /dev/full, which Linux has";
test("a full disk under stdout is reported, and exits 1", { skip: noFullDisk }, async () => {
  const full = openSync("/dev/full", "w");
  const child = spawn(process.execPath, [MAIN, "help"], { stdio: ["ignore", full, "pipe"] });
  closeSync(full);
  assert.ok(child.stderr);
  const [err, [code]] = await Promise.all([text(child.stderr), ended(child)]);
  assert.match(err, /^trunkline: Cannot write to standard output: ENOSPC: .+\n$/);
  assert.equal(code, 1);
});

test("a closed stderr does not turn a mistake into a success", async () => {
  const child = spawnProgram(["sevre"], {});
  child.stderr.destroy();
  const [out, [code]] = await Promise.all([text(child.stdout), ended(child)]);
  assert.equal(out, "");
  assert.equal(code, 2);
});

test("finding a command loads only the table, the parser and the output", async () => {
  const program = pathToFileURL(join(ROOT, "src/cli/program.ts")).href;
  const script = `
    const loaded = [];
    const { registerHooks } = await import("node:module");
    registerHooks({
      load(url, context, next) {
        loaded.push(url);
        return next(url, context);
      },
    });
    await import(${JSON.stringify(program)});
    console.log(JSON.stringify(loaded));`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script]);
  const loaded = JSON.parse(await text(child.stdout)) as string[];
  const src = pathToFileURL(join(ROOT, "src/")).href;
  const files = loaded.filter((url) => url.startsWith(src)).map((url) => url.slice(src.length));
  const tables = files.filter((file) =>
    /^cli\/(?:commands|.*-command|identity\/identity-options|worker\/fleet-options)\.ts$/.test(
      file,
    ),
  );
  const code = files.filter((file) => !tables.includes(file));
  assert.ok(tables.includes("cli/commands.ts"));
  assert.deepEqual(code.toSorted(), [
    "base/errors.ts",
    "base/process/environment.ts",
    "base/text/shell-word.ts",
    "base/text/suggest.ts",
    "base/text/visible.ts",
    "cli/program.ts",
    "cli/shell/command.ts",
    "cli/shell/host.ts",
    "cli/shell/layout.ts",
    "cli/shell/parse.ts",
  ]);
});

test("the code that mcp and acp load at their start does not grow unnoticed", async () => {
  // What a start does not need, and is large, belongs behind an `import()`.
  const most = 740_000;
  const hello = { mcp: { protocolVersion: "2025-11-25" }, acp: { protocolVersion: 1 } };
  for (const [command, version] of Object.entries(hello)) {
    using home = mkdtempDisposableSync(join(tmpdir(), "trunkline-start-"));
    const counted = join(home.path, "characters");
    await using program = new Program([command], {
      built: join(ROOT, "dist/trunkline.js"),
      nodeArgs: ["--import", join(ROOT, "test/support/loaded-code.mjs")],
      env: { XDG_CACHE_HOME: home.path, LOADED_CODE: counted },
    });
    const clientInfo = { name: "test", version: "1" };
    const params = { ...version, capabilities: {}, clientCapabilities: {}, clientInfo };
    program.write({ jsonrpc: "2.0", id: 0, method: "initialize", params });
    if (command === "mcp") program.write({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    await program.answers(command === "mcp" ? 2 : 1);
    const characters = Number(readFileSync(counted, "utf8"));
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
    assert.ok(characters > 100_000 && characters < most, `${command}: ${characters} characters`);
  }
});
