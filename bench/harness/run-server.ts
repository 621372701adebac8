import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { AcpSocket } from "../../test/support/acp-socket.ts";
import { readyOf } from "../../test/support/owner-access.ts";
import { Program } from "../../test/support/program.ts";
import type { MadeRepository } from "./made-repository.ts";

const AGENT = join(import.meta.dirname, "../../test/support/acp-agent.mjs");

const MANY = { limit: 1_000_000, windowMs: 60_000 };

/** The built program as a server of remote runs, and a client of it. */
export class RunServer implements AsyncDisposable {
  readonly #folder: string;
  readonly ide: AcpSocket;
  readonly #program: Program;

  private constructor(folder: string, program: Program, ide: AcpSocket) {
    this.#folder = folder;
    this.#program = program;
    this.ide = ide;
  }

  static async start(): Promise<RunServer> {
    const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-run-"));
    mkdirSync(join(folder, "home"));
    const config = {
      agent: "scripted",
      agents: { scripted: { command: process.execPath, args: [AGENT] } },
      remote: {
        protocols: ["file"],
        turns: { running: 100, runningEach: 100, waitingEach: 100 },
      },
      log: { level: "error" },
      // No limit is measured, and no update put together with the next.
      limits: { messages: { "session/prompt": { rate: MANY }, "session/update": { rate: MANY } } },
    };
    writeFileSync(join(folder, "config.jsonc"), JSON.stringify(config));
    const env = {
      HOME: join(folder, "home"),
      PATH: process.env["PATH"] ?? "",
      TRUNKLINE_CONFIG: join(folder, "config.jsonc"),
      TRUNKLINE_DATA: join(folder, "data"),
    };
    const program = new Program(["serve", "--port", "0", "--json"], { env });
    await program.until(({ lines }) => lines.length > 0);
    const { acp, tokenFile } = readyOf(JSON.parse(program.lines[0] ?? ""));
    const authorization = readFileSync(tokenFile, "utf8");
    return new RunServer(folder, program, await AcpSocket.connect(acp, { authorization }));
  }

  /** The server's own process, without its agents. */
  get pid(): number {
    return this.#program.child.pid ?? NaN;
  }

  /** Begins a run on the newest commit of a repository; the milliseconds until the answer. */
  async begin({ url, revision }: MadeRepository): Promise<{
    readonly sessionId: string;
    readonly milliseconds: number;
  }> {
    const remote = { url, branch: "main", revision };
    const begun = performance.now();
    const answer = await this.ide.ask("session/new", {
      cwd: "",
      mcpServers: [],
      _meta: { remote },
    });
    const milliseconds = performance.now() - begun;
    return { sessionId: answer.sessionId as string, milliseconds };
  }

  async end(sessionId: string): Promise<void> {
    await this.ide.ask("session/delete", { sessionId });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ide[Symbol.dispose]();
    this.#program.child.kill();
    await this.#program.exit;
    await this.#program[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
