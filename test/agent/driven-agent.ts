import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ExternalAgent } from "../../src/agent/external-agent.ts";
import type { CommandSandboxOpener } from "../../src/agent/files/command-sandbox.ts";
import { Log } from "../../src/base/log.ts";
import { AcpApp, type AcpAppOptions, type Message, type TestClient } from "../support/acp-app.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");

interface DrivenOptions {
  readonly flags?: string[];
  readonly sandbox?: CommandSandboxOpener;
}

/** Somebody else's agent behind our door, and a workspace for it. */
export class DrivenAgent implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-driven-"));
  readonly agent: ExternalAgent;
  app!: AcpApp;
  client!: TestClient;
  sessionId = "";

  private constructor(flags: readonly string[], sandbox: CommandSandboxOpener | undefined) {
    this.agent = new ExternalAgent({
      name: "other",
      command: process.execPath,
      args: [AGENT, ...flags],
      sandbox,
      log: new Log("error", () => {}),
    });
  }

  static async open(
    capabilities: object = {},
    { flags = [], sandbox, ...options }: AcpAppOptions & DrivenOptions = {},
  ): Promise<DrivenAgent> {
    const driven = new DrivenAgent(flags, sandbox);
    driven.app = await AcpApp.open({ agent: driven.agent, ...options });
    driven.client = driven.app.connect();
    await driven.client.initialize(capabilities);
    const { sessionId } = await driven.client.ask("session/new", { cwd: driven.folder });
    driven.sessionId = String(sessionId);
    return driven;
  }

  /** What the agent says to a prompt. */
  async say(text: string): Promise<string> {
    const before = this.client.text.length;
    await this.client.prompt(this.sessionId, text);
    return this.client.text.slice(before);
  }

  /** What the tool call shows last. */
  get shown(): Message {
    return this.client.updates.findLast(({ toolCallId }) => toolCallId === "run-1")?.content[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app[Symbol.asyncDispose]();
    await this.agent[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true });
  }
}
