import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { Program, type ProgramOptions } from "./program.ts";
import { runInProcess } from "./run-in-process.ts";

/** A plugin as `plugins.yaml` has it. */
export interface PluginEntry {
  readonly id: string;
  readonly binary: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: Readonly<Record<string, string>>;
  readonly provides_storage?: readonly string[];
  readonly needs_tools?: readonly string[];
  readonly approved_tools?: readonly string[];
  readonly depends_on?: readonly string[];
}

export interface CommandResult {
  readonly code: number | NodeJS.Signals;
  readonly out: string;
  readonly err: string;
}

/** A message of JSON-RPC, as far as tests look into it. */
export interface Reply {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result?: Readonly<Record<string, unknown>> & {
    readonly content?: readonly { readonly type: string; readonly text: string }[];
    readonly isError?: boolean;
    readonly tools?: readonly { readonly name: string }[];
  };
  readonly error?: { readonly code: number; readonly message: string };
}

/** Milliseconds for anything that is waited for; then the test fails with what was said. */
const LONGEST_WAIT = 60_000;
/** Plugins run from source, and need not strip the types again at each start (scripts/task.mjs). */
const COMPILED = compileCache();
const PLUGIN = join(import.meta.dirname, "bus-plugin.ts");
const ROGUE = join(import.meta.dirname, "bus-rogue.ts");

/** A folder with the certificates, the state and the plugins of one bus, and who runs on it. */
export class BusHome implements AsyncDisposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-bus-"));
  readonly certs = join(this.path, "certs");
  readonly data = join(this.path, "data");
  readonly record = join(this.path, "record");
  readonly #open = new AsyncDisposableStack();

  constructor() {
    writeFileSync(this.record, "");
  }

  /** The test plugin, under an id of its own. */
  testPlugin(id = "tools.test", env: Readonly<Record<string, string>> = {}): PluginEntry {
    const given = { BUS_RECORD: this.record, BUS_ID: id, ...COMPILED, ...env };
    return { id, binary: process.execPath, args: [PLUGIN], env: given, config: { greeting: "hi" } };
  }

  /** A plugin that does not register, and does what it is told with its certificates. */
  roguePlugin(id = "rogue", env: Readonly<Record<string, string>> = {}): PluginEntry {
    const given = { BUS_ID: id, ...COMPILED, ...env };
    return { id, binary: process.execPath, args: [ROGUE], env: given };
  }

  /** The lines that the test plugins have recorded. */
  recorded(): string[] {
    return readFileSync(this.record, "utf8").split("\n").filter(Boolean);
  }

  /** Writes a `plugins.yaml`. JSON is YAML. */
  write(...plugins: PluginEntry[]): string {
    const path = join(this.path, "plugins.yaml");
    const all = plugins.map((plugin) => ({ ...plugin, enabled: true }));
    writeFileSync(path, JSON.stringify({ plugins: all }));
    return path;
  }

  /** Starts an orchestrator, and waits until it listens. Its plugins are being started then. */
  async orchestrator(
    plugins: readonly PluginEntry[],
    listen = "localhost:0",
    options: ProgramOptions = {},
  ): Promise<OrchestratorProgram> {
    const config = this.write(...plugins);
    const args = ["--config", config, "--listen", listen, "--certs-dir", this.certs];
    const program = new Program(["orchestrator", "--json", "--data", this.data, ...args], options);
    const orchestrator = new OrchestratorProgram(this, program);
    this.#open.use(orchestrator);
    await program.until(({ lines }) => lines.length > 0);
    return orchestrator;
  }

  bridge(addr: string, ...flags: string[]): Bridge {
    const args = ["--orchestrator-addr", addr, "--certs-dir", this.certs, "--data", this.data];
    return new Bridge(new Program(["mcp", ...args, ...flags]));
  }

  /** Runs a command to its end. */
  async run(...args: string[]): Promise<CommandResult> {
    await using program = new Program([...args, "--data", this.data]);
    program.child.stdin.end();
    const code = await program.exit;
    return { code, out: program.lines.join("\n"), err: program.stderr };
  }

  /** The same in this process, which is far quicker. */
  async runInProcess(...args: string[]): Promise<CommandResult> {
    const { PATH = "" } = process.env;
    const place = { env: { PATH, HOME: this.path }, cwd: this.path };
    const { code, out, err } = await runInProcess([...args, "--data", this.data], place);
    return { code, out: out.trimEnd(), err };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
    rmSync(this.path, { recursive: true });
  }
}

/** `trunkline orchestrator`, ended as Ctrl-C ends it. */
export class OrchestratorProgram implements AsyncDisposable {
  readonly program: Program;
  readonly #home: BusHome;
  #isOver = false;

  constructor(home: BusHome, program: Program) {
    this.#home = home;
    this.program = program;
  }

  get addr(): string {
    return String((JSON.parse(this.program.lines[0] ?? "{}") as { addr?: unknown }).addr);
  }

  /** Waits for an event in its log, from the so-manieth of that name on. */
  async logged(event: string, count = 1): Promise<Readonly<Record<string, unknown>>> {
    const found = (): Record<string, unknown>[] =>
      this.program.stderr
        .split("\n")
        .slice(0, -1)
        .filter((line) => line.includes(`"event":"${event}"`))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    const late = setTimeout(() => this.program.child.kill("SIGTERM"), LONGEST_WAIT);
    await this.program.until(() => found().length >= count);
    clearTimeout(late);
    return found()[count - 1] ?? {};
  }

  /** `trunkline plugin …` with this orchestrator, in this process. */
  plugin(command: string, ...args: string[]): Promise<CommandResult> {
    return this.#home.runInProcess("plugin", command, ...args, ...this.#where);
  }

  /** The same as a program of its own. */
  startPlugin(command: string, ...args: string[]): Promise<CommandResult> {
    return this.#home.run("plugin", command, ...args, ...this.#where);
  }

  get #where(): string[] {
    return ["--orchestrator-addr", this.addr, "--certs-dir", this.#home.certs];
  }

  /** Ends it as the machine might. */
  async kill(): Promise<void> {
    this.#isOver = true;
    this.program.child.kill("SIGKILL");
    await this.program.exit;
  }

  /** Ends it as a person does. */
  async stop(): Promise<void> {
    this.#isOver = true;
    this.program.child.kill("SIGINT");
    assert.equal(await this.program.exit, 0, this.program.stderr);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using _ = this.program;
    if (!this.#isOver) await this.stop();
  }
}

/** `trunkline mcp --orchestrator-addr`, and a client that speaks to it. */
export class Bridge implements AsyncDisposable {
  readonly program: Program;
  readonly #waiting = new Map<unknown, PromiseWithResolvers<Reply>>();
  #lastId = 0;

  constructor(program: Program) {
    this.program = program;
    createInterface({ input: program.child.stdout }).on("line", (line) => {
      const reply = JSON.parse(line) as Reply;
      this.#waiting.get(reply.id)?.resolve(reply);
      this.#waiting.delete(reply.id);
    });
    void program.exit.then(() => {
      const error = new Error(`The bridge ended without an answer. stderr: ${program.stderr}`);
      for (const { reject } of this.#waiting.values()) reject(error);
    });
  }

  /** Sends a request, and waits for the answer to it. */
  ask(method: string, params?: object): Promise<Reply> {
    const id = `${method} ${++this.#lastId}`;
    const waiting = Promise.withResolvers<Reply>();
    this.#waiting.set(id, waiting);
    this.program.write({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
    return waiting.promise;
  }

  call(name: string, args: object = {}): Promise<Reply> {
    return this.ask("tools/call", { name, arguments: args });
  }

  /** Waits until it has said on stderr so many times that it is connected. */
  async connected(times = 1): Promise<void> {
    const said = /connected to orchestrator/g;
    await this.program.until(({ stderr }) => (stderr.match(said) ?? []).length >= times);
  }

  /** Ends its input, as a client does. */
  async end(): Promise<number | NodeJS.Signals> {
    this.program.child.stdin.end();
    return this.program.exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using _ = this.program;
    assert.equal(await this.end(), 0, this.program.stderr);
  }
}

function compileCache(): Readonly<Record<string, string>> {
  const { NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
}
