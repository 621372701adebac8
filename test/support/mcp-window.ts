import { join } from "node:path";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";

import { until } from "./until.ts";
import { Program } from "./program.ts";
import { ServedGateway } from "./served-gateway.ts";

type Json = Record<string, never>;
type Message = {
  id?: number | string;
  method?: string;
  params?: Json;
  result?: Json;
  error?: Json;
};

const SERVER = join(import.meta.dirname, "counting-server.mjs");

/** A home with a server that counts its instances, for a gateway and windows. */
export class WindowPlace implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-windows-"));
  readonly home = join(this.path, "home");
  readonly record = join(this.path, "record");
  readonly config = join(this.path, "config.jsonc");

  constructor(settings: object = {}) {
    mkdirSync(this.home);
    const counting = { command: process.execPath, args: [SERVER, this.record], ...settings };
    this.configure({ mcpServers: { counting } });
  }

  configure(config: object): void {
    writeFileSync(this.config, JSON.stringify(config));
  }

  get env(): Record<string, string> {
    return { HOME: this.home, TMPDIR: this.home };
  }

  serve(): Promise<ServedGateway> {
    return ServedGateway.start(["--config", this.config], { env: this.env });
  }

  /** How often the server has noted a line that begins so. */
  noted(start: string): number {
    return this.#lines().filter((line) => line.startsWith(start)).length;
  }

  /** Resolves when the server has noted so many. */
  async untilNoted(start: string, count: number): Promise<void> {
    await until(() => this.noted(start) >= count);
  }

  #lines(): string[] {
    return existsSync(this.record) ? readFileSync(this.record, "utf8").split("\n") : [];
  }

  /** Lets the calls of the server end. */
  go(): void {
    writeFileSync(`${this.record}.go`, "");
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, maxRetries: 5 });
  }
}

interface WindowOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Further options of `trunkline mcp`. */
  readonly args?: readonly string[];
}

/** An assistant that has started `trunkline mcp`, on the raw wire: it sees every message. */
export class McpWindow implements AsyncDisposable {
  readonly program: Program;
  #last = 0;

  constructor(place: WindowPlace, options: WindowOptions = {}) {
    const env = { ...place.env, ...options.env };
    const folder = options.cwd === undefined ? {} : { cwd: options.cwd };
    const args = ["mcp", "--config", place.config, ...(options.args ?? [])];
    this.program = new Program(args, { env, ...folder });
  }

  static async open(
    place: WindowPlace,
    options: WindowOptions & { readonly name?: string } = {},
  ): Promise<McpWindow> {
    const window = new McpWindow(place, options);
    await window.ask("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: { elicitation: {}, roots: {} },
      clientInfo: { name: options.name ?? "window", version: "1" },
    });
    window.program.write({ jsonrpc: "2.0", method: "notifications/initialized" });
    return window;
  }

  get messages(): Message[] {
    return this.program.lines.map((line) => JSON.parse(line) as Message);
  }

  /** Sends a request without waiting; gives its id. */
  post(method: string, params: object = {}): number {
    const id = ++this.#last;
    this.program.write({ jsonrpc: "2.0", id, method, params });
    return id;
  }

  call(name: string, args: object = {}): number {
    return this.post("tools/call", { name, arguments: args });
  }

  async find(wanted: (message: Message) => boolean): Promise<Message> {
    await this.program.until(() => this.messages.some(wanted));
    return this.messages.find(wanted) ?? {};
  }

  answerTo(id: number): Promise<Message> {
    return this.find((message) => message.id === id && message.method === undefined);
  }

  async ask(method: string, params: object = {}): Promise<Json> {
    const { result, error } = await this.answerTo(this.post(method, params));
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  /** Answers a question of the server. */
  answer(id: Message["id"], result: object): void {
    this.program.write({ jsonrpc: "2.0", id, result });
  }

  /** The text that a tool answers with. */
  async textOf(id: number): Promise<string> {
    const { result, error } = await this.answerTo(id);
    const [first] = (result?.content ?? []) as { text: string }[];
    return first?.text ?? `error: ${String(error?.message)}`;
  }

  /** Ends the input, as an assistant that closes. Resolves to the exit code. */
  close(): Promise<number | NodeJS.Signals> {
    this.program.child.stdin.end();
    return this.program.exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.program.child.stdin.end();
    await this.program.exit;
    await this.program[Symbol.asyncDispose]();
  }
}
