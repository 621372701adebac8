import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";

import type { LimitTable } from "../../src/base/limit/limits.ts";
import { Log } from "../../src/base/log.ts";
import type { Principal } from "../../src/base/principal.ts";
import { AcpDoor, type AcpDoorOptions } from "../../src/protocol/acp/door.ts";
import { AcpConversation } from "../../src/protocol/acp/serve.ts";
import type { Agent } from "../../src/session/agent.ts";
import { Budgets, type BudgetsOptions } from "../../src/session/budget/budgets.ts";
import { resolveSessionLimits, type SessionLimits } from "../../src/session/limits.ts";
import type { NoticeListener } from "../../src/session/notice.ts";
import type { AnswerPolicy } from "../../src/session/permission/permission.ts";
import { Sessions } from "../../src/session/sessions.ts";
import { SampleFolder } from "../samples/sample-folder.ts";
import { SessionLog } from "../../src/store/session/session-log.ts";
import { SessionRules } from "../../src/store/session/session-rules.ts";
import { SessionUsage } from "../../src/store/session/session-usage.ts";
import type { ChannelLimits } from "../../src/wire/channel.ts";
import { type MemoryChannel, memoryPair } from "../../src/wire/channel/memory.ts";
import { Oracle, packages } from "../acp/oracle.ts";
import { ScriptedAgent, type Script } from "./scripted-agent.ts";

export interface AcpAppOptions {
  readonly script?: Script;
  /** Who works in sessions, instead of one that follows a script. */
  readonly agent?: Agent;
  readonly limits?: LimitTable;
  readonly sessionLimits?: Partial<SessionLimits>;
  /** What sessions may use; nothing is counted where this is left out. */
  readonly budgets?: Partial<BudgetsOptions>;
  /** Whose answers to permission requests count. */
  readonly permissions?: AnswerPolicy;
  readonly notices?: NoticeListener;
  /** More options of the door. */
  readonly door?: Partial<AcpDoorOptions>;
  /** The script says what is in no schema. */
  readonly isOdd?: boolean;
}

const NO_BUDGETS = { session: {}, day: {} };

/** Sessions on a disk of their own, an agent that follows a script, and a door for test clients. */
export class AcpApp implements AsyncDisposable {
  readonly agent: ScriptedAgent;
  readonly audit: object[] = [];
  readonly folder: SampleFolder;
  log!: SessionLog;
  rules!: SessionRules;
  sessions!: Sessions;
  door!: AcpDoor;
  readonly #options: AcpAppOptions;
  readonly #clients = new Set<TestClient>();
  readonly #oracles: Oracle[] = [];

  private constructor(folder: SampleFolder, options: AcpAppOptions) {
    this.folder = folder;
    this.#options = options;
    this.agent = new ScriptedAgent(options.script);
  }

  static async open(options: AcpAppOptions = {}): Promise<AcpApp> {
    const app = new AcpApp(await SampleFolder.create(), options);
    // The schemas are there from now on, and compiled when the first client comes.
    await packages.install();
    await app.start();
    return app;
  }

  /** Opens what is on disk, as a new process would. */
  async start(): Promise<void> {
    const { limits, sessionLimits, budgets, permissions, notices } = this.#options;
    this.log = await SessionLog.open(this.folder.path);
    this.rules = new SessionRules(this.log.database);
    const log = new Log("error", () => {});
    const store = new SessionUsage(this.log.database);
    this.sessions = new Sessions({
      store: this.log,
      rules: this.rules,
      agent: () => this.#options.agent ?? this.agent,
      limits: resolveSessionLimits(limits, sessionLimits),
      log,
      ...(budgets === undefined
        ? {}
        : { budgets: new Budgets({ ...NO_BUDGETS, store, log, ...budgets }) }),
      audit: (entry) => this.audit.push(entry),
      permissions,
      notices,
    });
    const sessions = async (): Promise<Sessions> => this.sessions;
    this.door = new AcpDoor({ sessions, limits, ...this.#options.door });
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) await client.leave();
    await this.sessions[Symbol.asyncDispose]();
    await this.log[Symbol.asyncDispose]();
  }

  connect(
    limits: Partial<ChannelLimits> = {},
    principal?: Principal,
    version: 1 | 2 = 1,
  ): TestClient {
    const [ours, theirs] = memoryPair(limits);
    const conversation = new AcpConversation(this.door, theirs, {
      peer: this.door.peerOptions,
      principal,
    });
    const oracle = Oracle.of(version);
    this.#oracles.push(oracle);
    const client = new TestClient(ours, oracle, () => conversation.close(0));
    this.#clients.add(client);
    return client;
  }

  /** One that has said hello in version 2. */
  async connectV2(capabilities: object = {}): Promise<TestClient> {
    const client = this.connect({}, undefined, 2);
    const info = { name: "test", version: "2" };
    await client.ask("initialize", { protocolVersion: 2, info, capabilities });
    return client;
  }

  /** A client that has said hello and has a session. */
  async client(capabilities: object = {}): Promise<{ client: TestClient; sessionId: string }> {
    const client = this.connect();
    await client.initialize(capabilities);
    const { sessionId } = await client.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    return { client, sessionId: String(sessionId) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.folder[Symbol.asyncDispose]();
    if (this.#options.isOdd === true) return;
    const problems = this.#oracles.flatMap((oracle) => oracle.problems);
    assert.deepEqual(problems, [], "all that we send is as the official schemas say");
  }
}

/** Whatever JSON holds. */
export type Json = ReturnType<typeof JSON.parse>;
export type Message = Readonly<Record<string, Json>>;

/** A client on the raw wire: it sees every message in its order. */
export class TestClient {
  readonly messages: Message[] = [];
  /** Answers what it is asked; no answer where it returns undefined. */
  answer: (message: Message) => object | undefined = () => undefined;
  readonly #channel: MemoryChannel;
  readonly #close: () => Promise<void>;
  readonly #changed = new EventEmitter().setMaxListeners(0);
  #lastId = 0;
  #isGone = false;
  #paused: PromiseWithResolvers<void> | undefined;

  readonly #oracle: Oracle;

  constructor(channel: MemoryChannel, oracle: Oracle, close: () => Promise<void>) {
    this.#channel = channel;
    this.#oracle = oracle;
    this.#close = close;
    channel.receive({
      message: (text) => {
        const message = JSON.parse(text) as Message;
        this.messages.push(message);
        oracle.received(message);
        if (message.method !== undefined && message.id !== undefined) {
          const answer = this.answer(message);
          if (answer !== undefined) this.send({ jsonrpc: "2.0", id: message.id, ...answer });
        }
        this.#changed.emit("change");
        return this.#paused?.promise;
      },
      fault: () => {},
      end: () => this.#changed.emit("change"),
    });
  }

  /** Reads no more than the next message, until what it returns is called. */
  pause(): () => void {
    const paused = (this.#paused = Promise.withResolvers<void>());
    return () => {
      this.#paused = undefined;
      paused.resolve();
    };
  }

  send(message: object): void {
    this.#oracle.sent(message);
    void this.#channel.send(JSON.stringify(message));
  }

  /** Sends a request without waiting; gives its id. */
  post(method: string, params: object): number {
    const id = ++this.#lastId;
    this.send({ jsonrpc: "2.0", id, method, params });
    return id;
  }

  async answerTo(id: number): Promise<Message> {
    return this.find((message) => message.id === id && message.method === undefined);
  }

  /** Asks, and gives the result; throws the error. */
  async ask(method: string, params: object): Promise<Message> {
    const { result, error } = await this.answerTo(this.post(method, params));
    if (error !== undefined) throw Object.assign(new Error(error.message), error);
    return result as Message;
  }

  initialize(clientCapabilities: object = {}): Promise<Message> {
    const clientInfo = { name: "test", version: "1" };
    return this.ask("initialize", { protocolVersion: 1, clientCapabilities, clientInfo });
  }

  prompt(sessionId: string, text: string, more: object = {}): Promise<Message> {
    return this.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }], ...more });
  }

  /** The first message, now or later, of that kind. */
  async find(matches: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.messages.find(matches);
      if (found !== undefined) return found;
      if (this.#isGone) throw new Error("The client has left");
      await once(this.#changed, "change");
    }
  }

  request(method: string): Promise<Message> {
    return this.find((message) => message.method === method);
  }

  get updates(): Message[] {
    return this.messages
      .filter(({ method }) => method === "session/update")
      .map(({ params }) => params.update as Message);
  }

  /** What was said, as one text. */
  get text(): string {
    return this.updates
      .filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk")
      .map(({ content }) => content.text as string)
      .join("");
  }

  /** Drops the connection. */
  async leave(): Promise<void> {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#channel.abort(new Error("The client is gone"));
    await this.#close();
  }
}
