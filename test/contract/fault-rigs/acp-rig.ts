import { gatewaySources } from "../../support/gateway-sources.ts";
import assert from "node:assert/strict";
import { join } from "node:path";

import { openHttpServer } from "../../../src/app/serve/http-server.ts";
import { LazyTools } from "../../../src/app/tool/lazy-tools.ts";
import { LazySessions } from "../../../src/app/session/lazy-sessions.ts";
import { AcpDoor } from "../../../src/protocol/acp/door.ts";
import { AcpConversation } from "../../../src/protocol/acp/serve.ts";
import type { SessionEvent } from "../../../src/session/event.ts";
import { OwnerToken } from "../../../src/store/access/access-token.ts";
import { SessionLog } from "../../../src/store/session/session-log.ts";
import { memoryPair } from "../../../src/wire/channel/memory.ts";
import type { FaultRig, Step } from "../store-fault-contract.ts";
import { faultApp, type FaultApp } from "./fault-app.ts";

const AGENT = join(import.meta.dirname, "../../support/acp-agent.mjs");

type Json = Record<string, never>;

/** An editor on the raw wire. */
export class Editor {
  readonly #send: (text: string) => void;
  readonly #pending = new Map<number, (message: Json) => void>();
  #lastId = 0;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  received(text: string): void {
    const message = JSON.parse(text) as Json & { id?: number; method?: string };
    if (message.method === undefined) this.#pending.get(message.id ?? -1)?.(message);
    else if (message.method === "session/request_permission") {
      const result = { outcome: { outcome: "selected", optionId: "once" } };
      this.#send(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    }
  }

  async ask(method: string, params: object): Promise<Json> {
    const id = ++this.#lastId;
    const answered = new Promise<Json>((resolve) => this.#pending.set(id, resolve));
    this.#send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const { result, error } = (await answered) as { result?: Json; error?: { message: string } };
    this.#pending.delete(id);
    if (error === undefined) return result as Json;
    throw new Error(error.message);
  }

  hello(): Promise<Json> {
    return this.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
  }
}

/** What an agent is prompted with. */
interface Prompts {
  /** Has it say a word, where it says what it is told to. */
  readonly say: (word: string) => string;
  readonly saysIt: boolean;
  readonly others: readonly string[];
}

/** Somebody else's agent, whose words nobody waits for. */
const EXTERNAL: Prompts = {
  say: (word) => `say ${word}`,
  saysIt: true,
  others: ["permission", "stream 40"],
};

/** Our own, without a model: it knows its commands, and recalls what was said before. */
const BUILT_IN: Prompts = { say: () => "/help", saysIt: false, others: ["/search nothing"] };

/** Sessions, and all that can be done with them. */
class AcpRig implements FaultRig {
  readonly folder: string;
  readonly steps: readonly Step[];
  readonly #home: FaultApp["home"];
  readonly #editor: Editor;
  readonly #place: object;
  readonly #open: AsyncDisposable;
  #old = "";
  #count = 0;
  /** What the agent said of which the prompt was answered. */
  readonly #said: { readonly session: string; readonly text: string }[] = [];

  constructor(
    home: FaultApp["home"],
    editor: Editor,
    open: AsyncDisposable,
    prompts: Prompts = EXTERNAL,
  ) {
    this.#home = home;
    this.folder = home.data;
    this.#editor = editor;
    this.#open = open;
    this.#place = { cwd: home.project, mcpServers: [] };
    this.steps = this.#steps(prompts);
  }

  /** A session that is used in many rounds, until it is long. */
  async prepare(): Promise<void> {
    if (this.#old !== "" && this.#count % 50 !== 0) return;
    const { sessionId } = await this.#editor.ask("session/new", this.#place);
    this.#old = String(sessionId);
  }

  async verify(): Promise<void> {
    await this.#open[Symbol.asyncDispose]();
    await using log = await SessionLog.open(this.folder);
    for (const [session, said] of Map.groupBy(this.#said, (one) => one.session)) {
      const entries = (await Array.fromAsync(log.read(session))).flat();
      assert.deepEqual(
        entries.map(({ seq }) => seq),
        Array.from(entries, (_, at) => at + 1),
      );
      const events = entries.map(({ message }) => message as SessionEvent);
      const texts = events.map(textOf);
      for (const { text } of said) {
        assert.equal(texts.filter((one) => one === text).length, 1, `'${text}' is there once`);
      }
      const count = (kind: string): number => events.filter((one) => one.kind === kind).length;
      assert.equal(count("end"), count("prompt"), "each turn has its end");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open[Symbol.asyncDispose]();
    await this.#home[Symbol.asyncDispose]();
  }

  #steps({ say, saysIt, others }: Prompts): Step[] {
    const editor = this.#editor;
    const place = this.#place;
    let fresh = "";
    let forked = "";
    const prompt = (sessionId: string, text: string) =>
      editor.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    return [
      {
        name: "prompt in the old session",
        run: async () => {
          const text = `word${++this.#count}`;
          await prompt(this.#old, say(text));
          if (saysIt) this.#said.push({ session: this.#old, text });
        },
      },
      ...others.map((text) => ({ name: text, run: () => prompt(this.#old, text) })),
      {
        name: "set mode",
        run: () => editor.ask("session/set_mode", { sessionId: this.#old, modeId: "ask" }),
      },
      {
        name: "load",
        run: () => editor.ask("session/load", { sessionId: this.#old, ...place }),
      },
      {
        name: "new",
        run: async () => {
          fresh = "";
          fresh = String((await editor.ask("session/new", place)).sessionId);
        },
      },
      {
        name: "fork",
        run: async () => {
          forked = "";
          const params = { sessionId: this.#old, ...place };
          forked = String((await editor.ask("session/fork", params)).sessionId);
        },
      },
      { name: "list", run: () => editor.ask("session/list", {}) },
      {
        name: "close and load",
        run: async () => {
          if (fresh === "") return;
          await prompt(fresh, say("once"));
          await editor.ask("session/close", { sessionId: fresh });
          await editor.ask("session/load", { sessionId: fresh, ...place });
          await prompt(fresh, say("twice"));
        },
      },
      {
        name: "delete",
        run: async () => {
          for (const sessionId of [fresh, forked]) {
            if (sessionId !== "") await editor.ask("session/delete", { sessionId });
          }
        },
      },
    ];
  }
}

function textOf(event: SessionEvent): string | undefined {
  if (event.kind !== "update") return undefined;
  return (event.update as { content?: { text?: string } }).content?.text;
}

async function open(agent = "other"): Promise<FaultApp> {
  // Rates are for people, who do not prompt a hundred times in a minute.
  const rate = { limit: 1_000_000, windowMs: 1 };
  return faultApp({
    agent,
    agents: { other: { command: process.execPath, args: [AGENT, "--loads"] } },
    limits: { messages: { "session/*": { rate } } },
  });
}

export function acpOnStdio(): Promise<FaultRig> {
  return onStdio("other", EXTERNAL);
}

export function acpWithBuiltIn(): Promise<FaultRig> {
  return onStdio("trunkline", BUILT_IN);
}

async function onStdio(agent: string, prompts: Prompts): Promise<FaultRig> {
  const { home, app } = await open(agent);
  const opened = new AsyncDisposableStack();
  const tools = opened.use(new LazyTools(app));
  const sessions = opened.use(new LazySessions(app, tools));
  const door = new AcpDoor({ sessions: sessions.open, limits: app.config.limits.messages });
  const [near, far] = memoryPair();
  const conversation = new AcpConversation(door, near, {
    peer: app.withLimits(door.peerOptions),
  });
  opened.defer(() => conversation.close(0));
  const editor = new Editor((text) => void far.send(text));
  far.receive({ message: (text) => editor.received(text), fault: () => {}, end: () => {} });
  await editor.hello();
  return new AcpRig(home, editor, opened, prompts);
}

export async function acpOnWebSocket(): Promise<FaultRig> {
  const { home, app } = await open();
  const opened = new AsyncDisposableStack();
  const server = await openHttpServer(app, { sources: gatewaySources() });
  opened.defer(() => server.close(0));
  const headers = { authorization: `Bearer ${new OwnerToken(home.data).read()}` };
  // Node's own takes headers.
  const url = `${server.origin.replace("http", "ws")}/acp`;
  const socket = new WebSocket(url, { headers });
  opened.defer(() => socket.close());
  const editor = new Editor((text) => socket.send(text));
  socket.addEventListener("message", ({ data }) => editor.received(String(data)));
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  await editor.hello();
  return new AcpRig(home, editor, opened);
}
