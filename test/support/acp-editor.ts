import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Json, Message } from "./acp-app.ts";
import { gone } from "./running-at.ts";
import { Program } from "./program.ts";

/** A home and a folder to work in, which editors come to one after the other. */
export class Place implements Disposable {
  readonly path: string;
  readonly home: string;
  readonly folder: string;

  constructor(parent = tmpdir()) {
    this.path = mkdtempSync(join(parent, "trunkline-place-"));
    this.home = join(this.path, "home");
    this.folder = join(this.path, "work");
    mkdirSync(this.home);
    mkdirSync(this.folder);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

export interface AcpEditorOptions {
  readonly config?: object;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly capabilities?: object;
  /** See ProgramOptions. */
  readonly within?: readonly string[];
  /** What it answers to what the agent asks, by the method; undefined leaves it open. */
  readonly answers?: Readonly<Record<string, (params: Json) => object | undefined>>;
  /** Other programs use the place at the same time, so their end is not waited for. */
  readonly isShared?: boolean;
}

/** An editor that has started `trunkline acp`, on the raw wire: it sees each message in its order. */
export class AcpEditor implements AsyncDisposable {
  readonly place: Place;
  readonly program: Program;
  readonly messages: Message[] = [];
  /** The requests that it made. */
  readonly sent: { readonly id: number; readonly method: string }[] = [];
  readonly #options: AcpEditorOptions;
  #read = 0;

  constructor(place: Place, options: AcpEditorOptions = {}) {
    this.place = place;
    this.#options = options;
    const { config = {}, args = [] } = options;
    const file = join(place.path, "config.jsonc");
    writeFileSync(file, JSON.stringify(config));
    const env = { ...options.env, HOME: place.home, TMPDIR: place.home };
    const within = options.within ?? [];
    this.program = new Program(["acp", "--config", file, ...args], { env, within });
    this.program.child.stdout.on("data", () => this.#look());
  }

  /** Says hello and begins a session in the folder. */
  async begin(): Promise<string> {
    await this.hello();
    const { sessionId } = await this.ask("session/new", {
      cwd: this.place.folder,
      mcpServers: [],
    });
    return String(sessionId);
  }

  hello(): Promise<Message> {
    const { capabilities: clientCapabilities = {} } = this.#options;
    const clientInfo = { name: "editor", version: "1" };
    return this.ask("initialize", { protocolVersion: 1, clientCapabilities, clientInfo });
  }

  /** Sends a request without waiting; gives its id. */
  post(method: string, params: object): number {
    const id = this.sent.length + 1;
    this.sent.push({ id, method });
    this.program.write({ jsonrpc: "2.0", id, method, params });
    return id;
  }

  notify(method: string, params: object): void {
    this.program.write({ jsonrpc: "2.0", method, params });
  }

  async answerTo(id: number): Promise<Message> {
    return this.find((message) => message.id === id && message.method === undefined);
  }

  /** Asks, and gives the result; throws the error. */
  async ask(method: string, params: object): Promise<Message> {
    const { result, error } = await this.answerTo(this.post(method, params));
    if (error === undefined) return result as Message;
    throw Object.assign(new Error(error.message as string), error);
  }

  prompt(sessionId: string, text: string): Promise<Message> {
    return this.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  /** The first message, now or later, of that kind. */
  async find(matches: (message: Message) => boolean): Promise<Message> {
    await this.program.until(() => this.messages.some(matches));
    return this.messages.find(matches) as Message;
  }

  /** Waits for an update, and gives it. */
  async update(matches: (update: Json) => boolean): Promise<Json> {
    const { params } = await this.find(
      ({ method, params: { update } = {} }) => method === "session/update" && matches(update),
    );
    return params.update;
  }

  /** All that was said of one kind, since so many messages. */
  updates(kind: string, since = 0): Json[] {
    return this.messages
      .slice(since)
      .filter(({ method }) => method === "session/update")
      .map(({ params }) => params.update)
      .filter(({ sessionUpdate }) => sessionUpdate === kind);
  }

  /** What the agent said, as one text. */
  text(since = 0): string {
    return this.updates("agent_message_chunk", since)
      .map(({ content }) => content.text as string)
      .join("");
  }

  /** Leaves as an editor does that is closed; all that Trunkline has started is to be gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.program.child.stdin.end();
    await this.program.exit;
    try {
      if (this.#options.isShared !== true) await gone(this.place.home);
    } finally {
      await this.program[Symbol.asyncDispose]();
    }
  }

  #look(): void {
    for (const line of this.program.lines.slice(this.#read)) {
      const message = JSON.parse(line) as Message;
      this.messages.push(message);
      const { id, method, params } = message;
      if (id === undefined || method === undefined) continue;
      const answer = this.#options.answers?.[method as string];
      const unknown = { error: { code: -32601, message: "Method not found" } };
      const result = answer?.(params);
      if (answer !== undefined && result === undefined) continue;
      this.program.write({ jsonrpc: "2.0", id, ...(answer === undefined ? unknown : { result }) });
    }
    this.#read = this.program.lines.length;
  }
}
