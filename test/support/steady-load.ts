import { execFile } from "node:child_process";
import { EventEmitter, once } from "node:events";
import {
  type DisposableTempDir,
  mkdtempDisposableSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import { Program } from "./program.ts";

const SERVER = join(import.meta.dirname, "echo-server.mjs");
const ANSWERED = "answered";

/** One call, and what became of it. */
export interface Sent {
  readonly server: string;
  readonly tool: string;
  readonly message: string;
  /** When it was sent, in milliseconds of this process. */
  readonly at: number;
  /** How often it was answered. */
  answers: number;
  /** Milliseconds until its first answer. */
  took: number;
  /** The process that answered it. */
  pid: number | undefined;
  /** What was said instead of a good answer. */
  error: string | undefined;
}

interface Answer {
  readonly id: unknown;
  readonly result?: {
    readonly isError?: boolean;
    readonly content?: readonly { readonly text: string }[];
  };
  readonly error?: { readonly message: string };
}

export interface SteadyLoadOptions {
  /** Names of the servers, and how many milliseconds each takes for a call. */
  readonly servers: Readonly<Record<string, number>>;
  /** Milliseconds between two calls. The servers take turns. */
  readonly pace: number;
}

/**
 * `trunkline mcp` with several servers behind it. Each is called at a steady pace, whether or not
 * earlier calls have their answers: what holds the program up holds up all calls that come
 * meanwhile, and shows.
 */
export class SteadyLoad implements AsyncDisposable {
  readonly program: Program;
  /** Every call. Its id is its place here. */
  readonly sent: Sent[] = [];
  /** Messages that answer none of them. */
  readonly strays: string[] = [];
  readonly #options: SteadyLoadOptions;
  readonly #folder: DisposableTempDir;
  /** The process that a server last answered from. */
  readonly #pids = new Map<string, number>();
  readonly #killed = new Set<number>();
  readonly #events = new EventEmitter();
  #open = 0;

  private constructor(options: SteadyLoadOptions) {
    this.#options = options;
    this.#folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-load-"));
    const servers = Object.keys(options.servers).map((name) => [
      name,
      { command: process.execPath, args: [SERVER, name, this.#recordOf(name)] },
    ]);
    const config = join(this.#folder.path, "config.jsonc");
    writeFileSync(config, JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
    this.program = new Program(["mcp", "--config", config]);
  }

  /** Starts the program, and waits until it knows the tools of all servers. */
  static async start(options: SteadyLoadOptions): Promise<SteadyLoad> {
    const load = new SteadyLoad(options);
    const clientInfo = { name: "load", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    load.program.write(
      { jsonrpc: "2.0", id: "hello", method: "initialize", params },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: "tools", method: "tools/list" },
    );
    await load.program.until(({ lines }) => lines.some((line) => line.includes(`"id":"tools"`)));
    createInterface({ input: load.program.child.stdout }).on("line", (line) => load.#heard(line));
    return load;
  }

  /** Calls all servers while the work goes on, then waits until every call is answered. */
  async during(work: () => Promise<void>): Promise<void> {
    const timer = setInterval(() => this.#callNext(), this.#options.pace);
    try {
      await work();
    } finally {
      clearInterval(timer);
    }
    while (this.#open > 0) await once(this.#events, ANSWERED);
  }

  /** Kills a server as the machine might. False when it has not answered since the last time. */
  kill(server: string): boolean {
    const pid = this.#pids.get(server);
    if (pid === undefined || this.#killed.has(pid)) return false;
    this.#killed.add(pid);
    return process.kill(pid, "SIGKILL");
  }

  /** Waits until a server answers that was not killed. Only under load does it answer anything. */
  async alive(server: string): Promise<void> {
    while (this.#killed.has(this.#pids.get(server) ?? 0)) await once(this.#events, ANSWERED);
  }

  /** The calls that a server says it took, by their messages. */
  takenBy(server: string): string[] {
    return readFileSync(this.#recordOf(server), "utf8").trimEnd().split("\n");
  }

  /** The servers' processes and the program's other children, as `ps` shows them. */
  async processes(): Promise<string[]> {
    const { stdout } = await promisify(execFile)("ps", ["-eo", "ppid,pid,stat,args"]);
    const isOurs = (line: string): boolean =>
      Number.parseInt(line, 10) === this.program.child.pid ||
      (line.includes(SERVER) && line.includes(this.#folder.path));
    return stdout.split("\n").filter(isOurs);
  }

  /** Ends the program as its client does, and says with which code. */
  async end(): Promise<number | NodeJS.Signals> {
    this.program.child.stdin.end();
    return this.program.exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
    this.#folder.remove();
  }

  #callNext(): void {
    const id = this.sent.length;
    const servers = Object.entries(this.#options.servers);
    const [server, wait] = servers[id % servers.length]!;
    const tool = `${server}_${id % 2 === 0 ? "do" : "read"}`;
    const message = `m${id}`;
    const call = { server, tool, message, answers: 0, took: 0, pid: undefined, error: undefined };
    this.#open++;
    this.sent.push({ ...call, at: performance.now() });
    const params = { name: tool, arguments: { message, wait } };
    this.program.write({ jsonrpc: "2.0", id, method: "tools/call", params });
  }

  #heard(line: string): void {
    const { id, result, error } = JSON.parse(line) as Answer;
    const sent = typeof id === "number" ? this.sent[id] : undefined;
    if (sent === undefined) return void this.strays.push(line);
    if (sent.answers++ > 0) return undefined;
    sent.took = performance.now() - sent.at;
    const text = result?.content?.[0]?.text ?? error?.message ?? line;
    const pid = Number.parseInt(text, 10);
    if (result?.isError !== true && text === `${pid} ${sent.message}`) {
      sent.pid = pid;
      this.#pids.set(sent.server, pid);
    } else {
      sent.error = text;
    }
    this.#open--;
    this.#events.emit(ANSWERED);
    return undefined;
  }

  #recordOf(server: string): string {
    return join(this.#folder.path, `${server}.record`);
  }
}
