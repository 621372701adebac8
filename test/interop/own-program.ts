import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import type { Place } from "../support/acp-editor.ts";
import type { Json } from "../support/acp-app.ts";
import { gone } from "../support/running-at.ts";
import type { AgentEntry } from "./other-agents.ts";

/** An agent that a person has started without Trunkline, in the folder of a place. */
export class OwnProgram implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #place: Place;
  readonly #answers = new Map<number, (answer: Json) => void>();
  #lastId = 0;

  constructor(place: Place, { command, args, env }: AgentEntry) {
    this.#place = place;
    const { PATH } = process.env;
    this.child = spawn(command, args, {
      cwd: place.folder,
      env: { PATH, HOME: place.home, TMPDIR: place.home, ...env },
    });
    this.child.stderr.resume();
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      if (!line.startsWith("{")) return;
      const message: Json = JSON.parse(line);
      if (message.method === undefined) this.#answers.get(message.id)?.(message);
    });
  }

  async ask(method: string, params: object): Promise<Json> {
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Json>();
    this.#answers.set(id, resolve);
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    const died = once(this.child, "close").then(() => {
      throw new Error("The agent has ended");
    });
    const { result, error } = await Promise.race([promise, died]);
    if (error !== undefined) throw new Error(JSON.stringify(error));
    return result;
  }

  /** Begins a session, and has one turn in it. */
  async converse(text: string): Promise<string> {
    const clientInfo = { name: "terminal", version: "1" };
    await this.ask("initialize", { protocolVersion: 1, clientCapabilities: {}, clientInfo });
    const cwd = this.#place.folder;
    const { sessionId } = await this.ask("session/new", { cwd, mcpServers: [] });
    await this.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    return String(sessionId);
  }

  /** Ends it, with all that it has started. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdin.end();
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const closed = once(this.child, "close");
      this.child.kill();
      await closed;
    }
    await gone(this.#place.home);
  }
}
