import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { Program } from "./program.ts";

const ROOT = join(import.meta.dirname, "../..");
const SERVER = join(ROOT, "test/support/tools-server.mjs");

/** A tool as a server describes it. */
export interface DescribedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly annotations?: object;
}

/** A home whose configuration names another party's MCP servers, with the tools that a test wants. */
export class ToolsHome implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-consent-"));
  readonly data = join(this.path, "data");

  constructor(servers: Readonly<Record<string, readonly DescribedTool[]>>, config: object = {}) {
    writeFileSync(
      join(this.path, "config.jsonc"),
      JSON.stringify({ mcpServers: this.serversFor(servers), ...config }),
    );
  }

  /** The `mcpServers` of a configuration. */
  serversFor(servers: Readonly<Record<string, readonly DescribedTool[]>>): object {
    return Object.fromEntries(
      Object.entries(servers).map(([name, tools]) => {
        const file = join(this.path, `${name}.json`);
        writeFileSync(file, JSON.stringify(tools));
        return [name, { command: process.execPath, args: [SERVER, file, this.#record(name)] }];
      }),
    );
  }

  /** The tools of a server that were called, in order. */
  called(server: string): string[] {
    const record = this.#record(server);
    if (!existsSync(record)) return [];
    return readFileSync(record, "utf8").split("\n").filter(Boolean);
  }

  get options(): string[] {
    return ["--config", join(this.path, "config.jsonc"), "--data", this.data];
  }

  /** Starts a command that goes on until its input ends. */
  start(...args: string[]): Program {
    return new Program([...args, ...this.options], { cwd: this.path });
  }

  /** Runs a command to its end. */
  run(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
    return this.runBare(...args, ...this.options);
  }

  /** The same with a configuration and data of its own. */
  async runBare(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
    const env = { PATH: process.env.PATH ?? "", HOME: this.path };
    const program = [join(ROOT, "dist/trunkline.js"), ...args];
    const child = spawn(process.execPath, program, { env, cwd: this.path });
    child.stdin.end();
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[unknown]>,
    ]);
    return { code, out, err };
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }

  #record(server: string): string {
    return join(this.path, `${server}.called`);
  }
}
