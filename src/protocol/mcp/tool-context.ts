import type { LogLevel } from "../../base/log.ts";
import type { Call } from "../../rpc/call.ts";
import { method } from "../../rpc/method.ts";
import { type Caller, CannotAsk, type Question, type ToolContext } from "../../tool/tool.ts";
import { type Client, isModern, type JsonObject, metaOf } from "./client.ts";
import type { Connection } from "./connection.ts";
import { LOG_LEVELS, type McpLogLevel } from "./names.ts";
import { canBeAsked, shapeQuestion } from "./question.ts";

const progressed = method<JsonObject>("notifications/progress");
const logged = method<JsonObject>("notifications/message");

const LEVELS: Record<LogLevel, McpLogLevel> = {
  debug: "debug",
  info: "info",
  warn: "warning",
  error: "error",
};

/** How questions reach the client, where it takes no requests. */
export type Ask = (question: Question) => Promise<unknown>;

/** What a tool may do while it runs, towards one MCP client. */
export class McpToolContext implements ToolContext {
  readonly meta: JsonObject;
  readonly caller: Caller;
  readonly #client: Client;
  readonly #call: Call<Connection>;
  readonly #ask: Ask | undefined;
  readonly #signal: AbortSignal | undefined;

  constructor(
    client: Client,
    call: Call<Connection>,
    params: unknown,
    options: { readonly ask?: Ask; readonly signal?: AbortSignal } = {},
  ) {
    this.meta = metaOf(params);
    this.caller = { door: "mcp", name: client.name };
    this.#client = client;
    this.#call = call;
    this.#ask = options.ask;
    this.#signal = options.signal;
  }

  get signal(): AbortSignal {
    return this.#signal ?? this.#call.signal;
  }

  progress(progress: number, total?: number, message?: string): void {
    this.#call.progressed();
    const { progressToken } = this.meta;
    if (progressToken === undefined) return;
    const told =
      this.#client.revision >= "2025-03-26" ? { progress, total, message } : { progress, total };
    void this.#call.notify(progressed, { progressToken, ...told });
  }

  log(level: LogLevel, data: unknown, logger = "trunkline"): void {
    const least = isModern(this.#client) ? this.#client.logLevel : this.#call.state.client.logLevel;
    if (least === undefined) return;
    const named = LEVELS[level];
    if (LOG_LEVELS.indexOf(named) < LOG_LEVELS.indexOf(least)) return;
    void this.#call.notify(logged, { level: named, logger, data });
  }

  canAsk(question: Question): boolean {
    return canBeAsked(this.#client, question);
  }

  async ask(question: Question): Promise<unknown> {
    if (!this.canAsk(question)) throw new CannotAsk(question);
    const params = shapeQuestion(this.#client, question);
    if (this.#ask !== undefined) return this.#ask({ ...question, params });
    return this.#call.request(method<JsonObject, unknown>(question.method), params, {
      signal: this.signal,
    });
  }
}
