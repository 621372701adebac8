import type { Server, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { Packages } from "../support/packages.ts";
import { until } from "../support/until.ts";

const packages = new Packages("test/agent");

/** Characters of a piece of an answer, so that a short text comes in several. */
const PIECE = 8;
/** A long answer comes in so many: each costs promises, which the test runner follows one by one. */
const MOST_PIECES = 100;

export interface ScriptedCall {
  readonly name: string;
  readonly arguments: unknown;
}

/** One answer of the fake model, and how it goes wrong. */
export interface Scripted {
  readonly content?: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ScriptedCall[];
  readonly error?: { readonly message: string; readonly type?: string };
  readonly status?: number;
  readonly usage?: Readonly<Record<string, number>>;
  readonly finishReason?: string;
  readonly truncateAfterChunks?: number;
  readonly latency?: number;
  /** Answers what this holds for, however often, instead of the request at its place. */
  readonly when?: (request: Request) => boolean;
  readonly chaos?: Readonly<Record<string, number>>;
}

export interface Request {
  readonly model?: string;
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
}

interface Mock {
  addFixture(fixture: object): void;
  clearFixtures(): void;
  start(): Promise<string>;
  stop(): Promise<void>;
  readonly url: string;
  readonly serverInstance: { readonly server: Server };
}

/** A server that speaks as the providers do, and says what it was told to, one answer a request. */
export class FakeLlm implements AsyncDisposable {
  readonly #mock: Mock;
  readonly #requests = new Set<Request>();
  /** Answers that are being given. */
  readonly #answers = new Set<ServerResponse>();
  /** Milliseconds before each piece of one, at most. */
  #latency = 0;

  private constructor(mock: Mock) {
    this.#mock = mock;
  }

  static async start(script: readonly Scripted[]): Promise<FakeLlm> {
    await packages.install();
    const module = packages.import<{ LLMock: new (options: object) => Mock }>(
      "@copilotkit/aimock/dist/index.js",
    );
    const { LLMock } = await module;
    const mock = new LLMock({ port: 0, chunkSize: PIECE, logLevel: "silent" });
    const llm = new FakeLlm(mock);
    llm.play(script);
    await mock.start();
    mock.serverInstance.server.on("request", (_, answer: ServerResponse) => {
      llm.#answers.add(answer);
      answer.on("finish", () => llm.#answers.delete(answer));
    });
    return llm;
  }

  /** Forgets what it was asked, and says this from now on. */
  play(script: readonly Scripted[]): void {
    this.#mock.clearFixtures();
    this.#requests.clear();
    // Its own record of requests leaves out what is larger than 64 KB.
    const record = (request: Request): boolean => this.#requests.add(request).size < 0;
    this.#mock.addFixture({ match: { predicate: record }, response: { content: "" } });
    const seen = new Map<object, number>();
    for (const [index, step] of script.entries()) {
      const { truncateAfterChunks, chaos, latency, when, ...response } = step;
      this.#latency = Math.max(this.#latency, latency ?? 0);
      const isTurn = (request: object): boolean => {
        if (!seen.has(request)) seen.set(request, seen.size);
        const at = seen.get(request) ?? 0;
        // The last answer is given again and again.
        return at === index || (at >= script.length && index === script.length - 1);
      };
      const toolCalls = response.toolCalls?.map((call, nth) => ({
        name: call.name,
        arguments:
          typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
        id: `call_${index}_${nth}`,
      }));
      this.#mock.addFixture({
        match: { predicate: when ?? isTurn },
        response: { ...response, ...(toolCalls === undefined ? {} : { toolCalls }) },
        chunkSize: Math.max(PIECE, Math.ceil(JSON.stringify(response).length / MOST_PIECES)),
        ...(truncateAfterChunks === undefined ? {} : { truncateAfterChunks }),
        ...(latency === undefined ? {} : { latency }),
        ...(chaos === undefined ? {} : { chaos }),
      });
    }
  }

  get url(): string {
    return this.#mock.url;
  }

  /** What it was asked, in order; without questions for its models. */
  get requests(): Request[] {
    return [...this.#requests].filter(({ messages }) => Array.isArray(messages));
  }

  /** All that the model got to see but for the tools; with a number, of that request alone. */
  seen(index?: number): string {
    const one = index === undefined ? undefined : this.requests.at(index);
    const chosen = index === undefined ? this.requests : one === undefined ? [] : [one];
    return chosen.map((request) => wordsOf(request)).join("\n");
  }

  /** Waits until the model was asked something that contains those words. */
  async asked(words: string): Promise<void> {
    await until(() => this.seen().includes(words));
  }

  /** The names of the tools that the model was last offered. */
  get tools(): string[] {
    return toolsOf(this.requests.at(-1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It goes on with an answer that nobody reads any more, until it finds that ended.
    const isAnswering = this.#answers.size > 0;
    for (const answer of this.#answers) answer.end();
    await this.#mock.stop();
    if (isAnswering) await sleep(2 * this.#latency);
  }
}

/** What the model got to see in a request, but for the tools. */
export function wordsOf(request: Request | undefined): string {
  return request?.messages.map((each) => shown(each)).join("\n") ?? "";
}

/** The names of the tools in a request. */
export function toolsOf(request: Request | undefined): string[] {
  return request?.tools?.map((tool) => (tool.function as { name: string }).name) ?? [];
}

function shown({ role, content, tool_calls: calls }: Readonly<Record<string, unknown>>): string {
  const text = typeof content === "string" ? content : JSON.stringify(content ?? "");
  return `${String(role)}: ${text} ${calls === undefined ? "" : JSON.stringify(calls)}`;
}
