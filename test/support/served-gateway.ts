import { readFileSync } from "node:fs";

import { Program, type ProgramOptions } from "./program.ts";

interface Ready {
  readonly url: string;
  readonly mcp: string;
  readonly acp: string;
  /** A link for a browser, which works once. */
  readonly login: string;
  readonly tokenFile?: string;
}

/** `trunkline serve` on a free port, and its owner's way in. */
export class ServedGateway implements AsyncDisposable {
  readonly program: Program;
  readonly ready: Ready;

  private constructor(program: Program, ready: Ready) {
    this.program = program;
    this.ready = ready;
  }

  static async start(args: readonly string[], options?: ProgramOptions): Promise<ServedGateway> {
    const program = new Program(["serve", "--port", "0", "--json", ...args], options);
    await program.until(({ lines }) => lines.length > 0);
    return new ServedGateway(program, JSON.parse(program.lines[0] ?? "") as Ready);
  }

  get headers(): Record<string, string> {
    const { tokenFile } = this.ready;
    if (tokenFile === undefined) return {};
    return { authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}` };
  }

  /** One request of the latest revision of MCP, which stands for itself. */
  async mcp(
    id: number,
    method: string,
    params: {
      readonly name?: string;
      readonly _meta?: object;
      readonly [key: string]: unknown;
    } = {},
    headers: Readonly<Record<string, string>> = this.headers,
  ): Promise<Record<string, never>> {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
      ...params._meta,
    };
    const { name } = params;
    const response = await fetch(this.ready.mcp, {
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...(name === undefined ? {} : { "mcp-name": name }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }),
    });
    const text = await response.text();
    const data = text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? "null");
    return JSON.parse(data) as Record<string, never>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.program.child.exitCode === null) this.program.child.kill("SIGTERM");
    await this.program.exit;
    await this.program[Symbol.asyncDispose]();
  }
}
