import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { bearer, type Ready, readyOf } from "./owner-access.ts";
import { Program } from "./program.ts";

export { bearer };

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Ended {
  readonly code: unknown;
  readonly out: string;
  readonly err: string;
}

export const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "stranger", version: "1" },
  },
};
export const PING = { jsonrpc: "2.0", id: 1, method: "ping" };
const JSON_TYPES = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** An address of this machine that others can reach too; undefined where it has none. */
export function ownAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ internal, family }) => !internal && family === "IPv4")?.address;
}

/** A folder with a configuration and a state of its own, and the commands that work on it. */
export class GuardedHome implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-access-"));
  readonly data = join(this.path, "data");
  readonly files = { TRUNKLINE_DATA: this.data, TRUNKLINE_CONFIG: join(this.path, "config.jsonc") };

  constructor(config: object = {}) {
    this.write("config.jsonc", JSON.stringify(config));
  }

  write(name: string, content: string): string {
    const path = join(this.path, name);
    writeFileSync(path, content);
    return path;
  }

  start(...args: string[]): Program {
    return new Program(args, { env: this.files });
  }

  /** Runs a command to its end. */
  async run(...args: string[]): Promise<Ended> {
    await using program = this.start(...args);
    program.child.stdin.end();
    const code = await program.exit;
    return { code, out: program.lines.join("\n"), err: program.stderr };
  }

  /** The same in this process, which is far quicker. */
  async runInProcess(...args: string[]): Promise<Ended> {
    const { runInProcess } = await import("./run-in-process.ts");
    const env = { HOME: this.path, ...this.files };
    return runInProcess(args, { env, cwd: this.path });
  }

  async createToken(name: string, ...options: string[]): Promise<string> {
    const { code, out, err } = await this.runInProcess("token", "create", name, ...options);
    assert.equal(code, 0, err);
    return out.trimEnd();
  }

  serve(...args: string[]): Promise<GuardedGateway> {
    return GuardedGateway.start(this, args);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

/** `trunkline serve` on a free port, stopped as Ctrl-C stops it. */
export class GuardedGateway implements AsyncDisposable {
  readonly program: Program;
  readonly port: string;
  readonly ready: Ready;
  /** What the owner's programs send. */
  readonly owner: { readonly authorization: string };

  private constructor(program: Program, line: unknown) {
    const { headers, ...ready } = readyOf(line);
    this.program = program;
    this.ready = ready;
    this.owner = headers;
    this.port = new URL(ready.url).port;
  }

  static async start(home: GuardedHome, args: readonly string[]): Promise<GuardedGateway> {
    const program = home.start("serve", "--port", "0", "--json", ...args);
    const [ready] = await program.answers(1);
    return new GuardedGateway(program, ready);
  }

  get authority(): string {
    return `127.0.0.1:${this.port}`;
  }

  get acp(): string {
    return `ws://${this.authority}/acp`;
  }

  /** Sends exactly these headers: fetch() would keep some for itself. */
  send(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders = {},
    body?: unknown,
    host = "127.0.0.1",
  ): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const options = { host, port: this.port, method, path, headers, agent: false };
      const call = request(options, (response) => {
        const { statusCode: status = 0 } = response;
        text(response).then((read) => {
          resolve({ status, headers: response.headers, body: read });
        }, reject);
      });
      call.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  get(path: string, headers: OutgoingHttpHeaders = {}): Promise<Answered> {
    return this.send("GET", path, headers);
  }

  post(body: unknown, headers: OutgoingHttpHeaders = {}, path = "/mcp"): Promise<Answered> {
    return this.send("POST", path, { ...JSON_TYPES, ...headers }, body);
  }

  /** Begins a session, and gives the header that goes on with it. */
  async begin(headers: OutgoingHttpHeaders): Promise<{ readonly "mcp-session-id": string }> {
    const { status, headers: told, body } = await this.post(INITIALIZE, headers);
    assert.equal(status, 200, body);
    return { "mcp-session-id": String(told["mcp-session-id"]) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.program.child.kill("SIGINT");
    assert.equal(await this.program.exit, 0, this.program.stderr);
    await this.program[Symbol.asyncDispose]();
  }
}
