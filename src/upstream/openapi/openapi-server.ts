import type { Channel, ChannelLimits } from "../../wire/channel.ts";
import { memoryPair } from "../../wire/channel/memory.ts";
import type { OpenApiSettings } from "../settings.ts";
import { withCredentials } from "./credentials.ts";
import { isObject, type Json, textOf } from "./document.ts";
import { httpCall } from "./http-call.ts";
import { type LoadedDocument, loadDocument, serverOf, trimmed } from "./load-document.ts";
import { BadArguments, type OperationRequest, requestFor } from "./operation-request.ts";
import { failed, resultOf } from "./operation-result.ts";
import { type Operation, operationsOf, schemesOf } from "./operations.ts";

/** Bytes of an answer that a model may get. */
const LARGEST_ANSWER = 1_000_000;

/**
 * The operations of an OpenAPI document as an MCP server in this process: whoever uses it need not know
 * that it is none.
 */
export class OpenApiServer {
  readonly #settings: OpenApiSettings;
  readonly #base: string;
  readonly #schemes: Readonly<Record<string, Json>>;
  readonly #info: Json;
  readonly #operations: ReadonlyMap<string, Operation>;
  /** Calls under way, by the id of their request. */
  readonly #calls = new Map<unknown, AbortController>();
  readonly #end = new AbortController();

  constructor({ document, base }: LoadedDocument, settings: OpenApiSettings) {
    this.#settings = settings;
    this.#base = base;
    this.#schemes = schemesOf(document);
    const { info } = document.value;
    this.#info = isObject(info) ? info : {};
    const operations = operationsOf(document, settings);
    this.#operations = new Map(operations.map((each) => [each.tool.name, each]));
  }

  /** Reads the document, and serves it to whoever has the other end of the channel. */
  static async open(
    settings: OpenApiSettings,
    limits: Partial<ChannelLimits>,
  ): Promise<{ readonly channel: Channel<string>; end(): Promise<void> }> {
    const { openapi, url, headers = {} } = settings;
    const server = new OpenApiServer(await loadDocument({ openapi, url, headers }), settings);
    const [ours, theirs] = memoryPair(limits);
    server.#serve(ours);
    return {
      channel: theirs,
      end: async () => {
        server.#end.abort();
        await ours[Symbol.asyncDispose]();
      },
    };
  }

  #serve(channel: Channel<string>): void {
    channel.receive({
      message: (text) => {
        const { id, method, params } = JSON.parse(text) as Json;
        if (method === "notifications/cancelled" && isObject(params)) {
          this.#calls.get(params.requestId)?.abort();
        }
        if (id === undefined || typeof method !== "string") return;
        this.#answer(id, method, isObject(params) ? params : {}).then(
          (answer) => channel.send(JSON.stringify({ jsonrpc: "2.0", id, ...answer })),
          (error: Error) => channel.abort(error),
        );
      },
      fault() {},
      end: () => this.#end.abort(),
    });
  }

  async #answer(id: unknown, method: string, params: Json): Promise<Json> {
    switch (method) {
      case "initialize": {
        const { title, version } = this.#info;
        const serverInfo = { name: textOf(title) ?? "OpenAPI", version: textOf(version) ?? "" };
        const capabilities = { tools: {} };
        return { result: { protocolVersion: "2025-11-25", capabilities, serverInfo } };
      }
      case "ping":
        return { result: {} };
      case "tools/list":
        return { result: { tools: [...this.#operations.values()].map(({ tool }) => tool) } };
      case "tools/call":
        return { result: await this.#call(id, params) };
      default:
        return { error: { code: -32601, message: `Method not found: ${method}` } };
    }
  }

  async #call(id: unknown, { name, arguments: args }: Json): Promise<object> {
    const operation = this.#operations.get(String(name));
    if (operation === undefined) return failed(`There is no operation '${String(name)}'`);
    const cancelled = new AbortController();
    this.#calls.set(id, cancelled);
    const what = `${operation.method} ${operation.path}`;
    try {
      const request = this.#request(operation, isObject(args) ? args : {});
      const signal = AbortSignal.any([cancelled.signal, this.#end.signal]);
      return resultOf(what, await httpCall(request, LARGEST_ANSWER, signal));
    } catch (error) {
      if (error instanceof BadArguments) return failed(`Cannot call ${what}: ${error.message}`);
      const { code, message } = error as NodeJS.ErrnoException;
      return failed(`${what} failed: ${message || code || String(error)}`);
    } finally {
      this.#calls.delete(id);
    }
  }

  #request(operation: Operation, args: Json): OperationRequest {
    const { auth = {}, headers = {} } = this.#settings;
    const request = requestFor(operation, this.#baseOf(operation), args);
    const {
      url,
      headers: sent,
      ...rest
    } = withCredentials(request, operation.security, this.#schemes, auth);
    // What is configured is not for a model to replace, in whatever case it writes it.
    const own = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
    const others = Object.entries(sent).filter(([name]) => !own.has(name.toLowerCase()));
    return { ...rest, url, headers: { ...Object.fromEntries(others), ...headers } };
  }

  /** An operation with `servers` of its own is called there, if that is the same origin. */
  #baseOf({ servers }: Operation): string {
    const base = new URL(this.#base);
    const other = servers === undefined ? undefined : serverOf(servers, base);
    if (other === undefined) return this.#base;
    if (other.origin === base.origin) return trimmed(other);
    throw new BadArguments(`its document sends it elsewhere, to ${other.origin}`);
  }
}
