import type { StopListener } from "../../../base/stop.ts";
import { type Method, method } from "../../../rpc/method.ts";
import { isObject, type JsonObject } from "../json-object.ts";
import { passedOn } from "../meta.ts";
import type { Peer } from "../../../rpc/peer.ts";
import type { Pending } from "../../../rpc/pending-requests.ts";
import { TextResult } from "../../../tool/text-result.ts";
import type { PassedCall, ToolResult } from "../../../tool/tool.ts";
import type { Around, ClientRequests } from "./requests.ts";

/** What stands between the id of a request and the arguments of a tool. */
export function beforeArguments(tool: string): string {
  return `,"method":"tools/call","params":{"name":${JSON.stringify(tool)},"arguments":`;
}

/** Observes how calls end that are passed on as text. One object for all calls of a tool. */
export interface AroundPassed {
  /** The tool, as its server calls it. */
  readonly name: string;
  /** The request after its id, up to the arguments. */
  readonly before: string;
  answered(): void;
  /** The outcome of a call that failed, or whose answer is not one text. */
  guard(work: Promise<ToolResult>, passed: PassedCall): Promise<ToolResult>;
  /** For a call that goes on in full. */
  around(passed: PassedCall): Around<ToolResult>;
}

const TOOL_CALL = method<unknown, unknown>("tools/call", {
  checkResult: (value) => (isObject(value) ? undefined : { path: [], says: "must be an object" }),
});

/** A call that is passed on as text, until its answer. One object for each, since there may be thousands. */
export class PassedRequest implements Pending, StopListener {
  readonly passed: PassedCall;
  readonly #requests: ClientRequests;
  readonly #around: AroundPassed;
  #id = 0;
  /** Set where its caller wants to hear of progress. */
  token: number | undefined;

  constructor(requests: ClientRequests, passed: PassedCall, around: AroundPassed) {
    this.#requests = requests;
    this.passed = passed;
    this.#around = around;
  }

  // On the prototype, so that they cost nothing for each call.
  get method(): Method<unknown, unknown> {
    return TOOL_CALL;
  }

  get isSent(): boolean {
    return true;
  }

  get takesUnparsed(): boolean {
    return false;
  }

  /** Sends it with arguments that are JSON text. False where nobody will answer. */
  send(peer: Peer, args: string): boolean {
    const id = peer.requests.register(this);
    if (id === undefined) return false;
    this.#id = id;
    this.passed.onStop(this);
    const { meta } = this.passed;
    const more = meta === undefined ? "" : this.#metaText(meta);
    peer.send(`{"jsonrpc":"2.0","id":${id}${this.#around.before}${args}${more}}}`);
    return true;
  }

  #metaText(meta: JsonObject): string {
    const own: Record<string, unknown> = passedOn({ meta });
    if (meta.progressToken !== undefined) {
      this.token = this.#requests.begin(this.passed.context);
      own.progressToken = this.token;
    }
    return Object.keys(own).length === 0 ? "" : `,"_meta":${JSON.stringify(own)}`;
  }

  stopped(reason: Error): void {
    this.#requests.giveUp(this.#id, reason);
  }

  /** Nothing to do: the passed call drops its listener itself. */
  settled(): void {}

  /** It was answered with one text. */
  answered(result: string, isError: boolean): void {
    if (this.token !== undefined) this.#requests.end(this.token);
    this.#around.answered();
    if (isError) this.#fallBackTo(Promise.resolve(new TextResult(result, isError)));
    else this.passed.answered(result, isError);
  }

  resolve(result: unknown): void {
    this.#fallBackTo(this.#goOn((work) => work.result(result)));
  }

  reject(error: Error): void {
    this.#fallBackTo(this.#goOn((work) => work.error(error)));
  }

  #fallBackTo(work: Promise<ToolResult>): void {
    this.passed.fallBackTo(this.#around.guard(work, this.passed));
  }

  async #goOn(
    go: (work: ReturnType<ClientRequests["workOn"]>) => ToolResult | Promise<ToolResult>,
  ): Promise<ToolResult> {
    const { name } = this.#around;
    const around = this.#around.around(this.passed);
    return go(this.#requests.workOn(name, this.passed, around, this.token));
  }
}
