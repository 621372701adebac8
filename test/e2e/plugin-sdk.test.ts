// Long: plugins are built and run.
import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { covers } from "../support/requirement.ts";
import { SampleOrchestrator } from "../samples/sample-orchestrator.ts";
import { answerOf } from "../../src/protocol/bus/answer.ts";
import type { BusClient } from "../../src/protocol/bus/connect.ts";

const ROOT = join(import.meta.dirname, "../..");
/** As outside of any test: the runner tells what it starts that it is part of one. */
const { NODE_TEST_CONTEXT: _, ...env } = process.env;

const execute = promisify(execFile);
const run = (command: string, args: readonly string[], cwd = ROOT) =>
  execute(command, args, { cwd, env });

/** The first example of the guide. */
const GUIDE = readFileSync(join(ROOT, "docs/PLUGINS.md"), "utf8");
const GREETER = /^```ts\n(.*?)^```$/ms.exec(GUIDE)?.[1] ?? "";

const limit = { timeout: 600_000 };

describe("the package that plugins import", limit, () => {
  let home: string;
  let folder: string;
  const plugin = (): string => join(folder, "plugin.ts");

  before(async () => {
    home = await mkdtemp(join(tmpdir(), "trunkline-plugin-"));
    // Of what `npm test` has built; test/interop/plugin-sdk.test.ts packs it, and checks its types.
    await mkdir(join(home, "node_modules"));
    await symlink(ROOT, join(home, "node_modules/trunkline"));
    folder = join(home, "greeter");
    await mkdir(folder);
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    await writeFile(plugin(), GREETER);
  });

  after(() => rm(home, { recursive: true }));

  it("prints the manifest", async () => {
    covers("bus.plugin.manifest");
    const { stdout } = await run(process.execPath, [plugin(), "--manifest"]);
    const { id, version, provides_tools } = JSON.parse(stdout) as Record<string, unknown>;
    assert.deepEqual([id, version, provides_tools], ["tools.greet", "1.0.0", ["greet"]]);
  });

  it("runs the plugin of the main file, or the one that runPlugin is given", async () => {
    const other = join(folder, "other.ts");
    const imports = 'import greeter from "./plugin.ts";\nimport { definePlugin, runPlugin } from';
    const text = GREETER.replace("import { definePlugin } from", imports);
    await writeFile(other, `${text.replace("tools.greet", "tools.other")}\ngreeter.manifest;\n`);
    const runs = join(folder, "runs.ts");
    await writeFile(runs, `${text.replace("tools.greet", "x")}\nawait runPlugin(greeter);\n`);
    for (const [file, id] of [
      [other, "tools.other"],
      [runs, "tools.greet"],
    ] as const) {
      const { stdout } = await run(process.execPath, [file, "--manifest"]);
      assert.equal((JSON.parse(stdout) as { id: string }).id, id);
    }
  });

  it("explains itself if it is started by hand", async () => {
    await assert.rejects(run(process.execPath, [plugin()]), (error: Failed) => {
      assert.equal(error.code, 2);
      assert.equal(error.stdout, "");
      assert.match(error.stderr, /plugin 'tools\.greet' 1\.0\.0.*--orchestrator-addr=HOST:PORT/s);
      return true;
    });
  });

  it("says in one sentence that a Node is too old", async () => {
    // No older Node is there on every machine: this one says that it is.
    const versions = "Object.defineProperty(process.versions, 'node', { value: '24.1.0' })";
    const older = ["--import", `data:text/javascript,${encodeURIComponent(versions)}`];
    const says = /^This plugin needs Node 26\.1 or later, and \S+ is Node 24\.1\.0: .*\n$/;
    for (const args of [
      [plugin(), "--manifest"],
      ["--import", "trunkline/plugin/node", "--eval", "0"],
    ]) {
      await assert.rejects(run(process.execPath, [...older, ...args], folder), (error: Failed) => {
        assert.deepEqual([error.code, error.stdout], [1, ""]);
        assert.match(error.stderr, says);
        return true;
      });
    }
  });

  it("reports what is wrong with its flags", async () => {
    const wrong: [code: number, args: string[], says: RegExp][] = [
      [2, ["--listen-addr"], /Cannot start plugin 'tools\.greet': --listen-addr needs a value/],
      [1, ["--listen-addr=here", `--certs-dir=${home}/c`], /Cannot read the address 'here'/],
      [1, ["--listen-addr=localhost:0", `--certs-dir=${plugin()}`], /Cannot \w+ .*plugin\.ts/],
    ];
    for (const [code, args, says] of wrong) {
      await assert.rejects(run(process.execPath, [plugin(), ...args]), (error: Failed) => {
        assert.match(error.stderr, says);
        assert.equal(error.code, code);
        return true;
      });
    }
  });

  it("serves, registers and answers until its input ends", async () => {
    await using orchestrator = await SampleOrchestrator.open();
    await using started = new Started(plugin(), orchestrator);
    const client = await started.dial(orchestrator);
    await orchestrator.hears("register tools.greet as tools.greet-client");
    assert.deepEqual(await greet(client, { name: "Ada" }), { text: "Hello, Ada" });
    await assert.rejects(greet(client, {}), /validation_error: 'name' is missing/);
    started.child.stdin.end();
    assert.deepEqual(await started.exit, { code: 0, stdout: "" });
  });

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`ends cleanly on ${signal}`, async () => {
      await using orchestrator = await SampleOrchestrator.open();
      await using started = new Started(plugin(), orchestrator);
      await started.ready;
      started.child.kill(signal);
      assert.deepEqual(await started.exit, { code: 0, stdout: "" });
    });
  }

  it("ends when the orchestrator asks it to, after it has answered", async () => {
    covers("bus.shutdown");
    await using orchestrator = await SampleOrchestrator.open();
    await using started = new Started(plugin(), orchestrator);
    const client = await started.dial(orchestrator);
    const answer = await client.ask({ case: "shutdown", value: { timeoutSeconds: 5 } });
    assert.equal(answerOf("It", answer, "shutdown").clean, true);
    assert.deepEqual(await started.exit, { code: 0, stdout: "" });
  });

  it("keeps running if its input is not a pipe", async () => {
    await using orchestrator = await SampleOrchestrator.open();
    const flags = [`--orchestrator-addr=${orchestrator.address}`];
    const child = spawn(
      process.execPath,
      [plugin(), ...flags, `--certs-dir=${orchestrator.certsDir}`],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    const exit = once(child, "exit");
    child.stderr.resume();
    await orchestrator.hears("register tools.greet as tools.greet-client");
    assert.equal(child.exitCode, null);
    child.kill("SIGTERM");
    assert.deepEqual(await exit, [0, null]);
  });

  it("keeps a plugin's output off its standard output", async () => {
    const printing = join(folder, "printing.ts");
    await writeFile(
      printing,
      GREETER.replace("({ name }) => `", "({ name }) => console.log('printed') ?? `"),
    );
    await using orchestrator = await SampleOrchestrator.open();
    await using started = new Started(printing, orchestrator);
    const client = await started.dial(orchestrator);
    await greet(client, { name: "Ada" });
    started.child.stdin.end();
    assert.deepEqual(await started.exit, { code: 0, stdout: "" });
    assert.match(started.stderr, /^printed$/m);
  });
});

interface Failed extends Error {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function greet(client: BusClient, args: Record<string, string>): Promise<unknown> {
  const value = { toolName: "greet", arguments: args };
  const response = answerOf("It", await client.ask({ case: "toolCall", value }), "toolCall");
  if (response.success) return response.result;
  throw new Error(`${response.errorCode}: ${response.errorMessage}`);
}

/** A plugin as an orchestrator starts it. */
class Started implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  /** Where it serves, as it says. */
  readonly ready: Promise<string>;
  readonly exit: Promise<{ code: number | null; stdout: string }>;
  stderr = "";

  constructor(file: string, { address, certsDir }: SampleOrchestrator) {
    const flags = ["--orchestrator-addr", address, "--listen-addr=localhost:0"];
    this.child = spawn(process.execPath, [file, ...flags, `--certs-dir=${certsDir}`]);
    const ready = Promise.withResolvers<string>();
    this.ready = ready.promise;
    this.ready.catch(() => {});
    createInterface(this.child.stderr).on("line", (line) => {
      this.stderr += `${line}\n`;
      const found = /^READY (127\.0\.0\.1:\d+)$/.exec(line)?.[1];
      if (found !== undefined) ready.resolve(found);
    });
    let stdout = "";
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    this.exit = once(this.child, "close").then(([code]) => {
      ready.reject(new Error(`It ended before it was ready: ${this.stderr}`));
      return { code: code as number | null, stdout };
    });
  }

  async dial(orchestrator: SampleOrchestrator): Promise<BusClient> {
    return orchestrator.dial(await this.ready, "tools.greet");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exit;
  }
}
