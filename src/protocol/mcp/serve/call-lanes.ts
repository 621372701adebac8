import type { Stop } from "../../../base/stop.ts";
import type { Call } from "../../../rpc/call.ts";
import type { Peer } from "../../../rpc/peer.ts";
import { TAKEN } from "../../../rpc/peer-options.ts";
import { CallLane } from "../../../tool/lane/call-lane.ts";
import { isToolResult } from "../../../tool/text-result.ts";
import type { Arguments, PassedCall, ToolContext, ToolResult } from "../../../tool/tool.ts";
import type { Connection } from "./connection.ts";
import type { McpDoor } from "./door.ts";
import { ID_FIRST, ID_LAST, LONGEST_CALL_TEXT } from "./call-text.ts";
import { shapeLater } from "./serve-tools.ts";
import type { McpToolContext } from "./tool-context.ts";

const QUOTE = 0x22;

/**
 * The calls of one connection that need not be parsed as a whole. A tool gets a lane with its first
 * call, which is served in full.
 */
export class CallLanes {
  readonly #door: McpDoor;
  readonly #peer: Peer<Connection>;
  /** By the name that the tool has for the client; undefined where it gets none. */
  readonly #lanes = new Map<string, CallLane | undefined>();

  private constructor(door: McpDoor, connection: Connection, peer: Peer<Connection>) {
    this.#door = door;
    this.#peer = peer;
    connection.onEnd(door.offer.tools.onChange(() => this.#lanes.clear()));
  }

  /** Those of a connection. */
  static of(door: McpDoor, connection: Connection, peer: Peer<Connection>): CallLanes {
    if (connection.lanes === undefined) {
      connection.lanes = new CallLanes(door, connection, peer);
      connection.read = connection.lanes.take;
    }
    return connection.lanes;
  }

  open(name: string, context: ToolContext): void {
    if (this.#lanes.has(name)) return;
    this.#lanes.set(name, CallLane.open(this.#door.offer.tools, name, context));
  }

  /** Serves a call that has a lane. Undefined for every other message, which is to be parsed. */
  readonly take = (text: string): typeof TAKEN | undefined => {
    if (text.length > LONGEST_CALL_TEXT) return undefined;
    const first = ID_FIRST.exec(text);
    const last = first === null ? ID_LAST.exec(text) : null;
    const id = first?.[1] ?? last?.[3];
    const name = first?.[2] ?? last?.[1];
    const json = first?.[3] ?? last?.[2];
    if (id === undefined || name === undefined || json === undefined) return undefined;
    const lane = this.#lanes.get(name);
    if (lane === undefined) return undefined;
    if (!lane.isOpen) {
      this.#lanes.delete(name);
      return undefined;
    }
    let args: Arguments;
    try {
      args = JSON.parse(json) as Arguments;
    } catch {
      return undefined;
    }
    if (!lane.fits(args)) return undefined;
    const isText = id.charCodeAt(0) === QUOTE;
    const call = this.#peer.begin("tools/call", isText ? id : Number(id));
    if (call === undefined) return undefined;
    const passed = new PassedText(this.#door, lane, call, name, json, args);
    if (lane.pass === undefined || !lane.pass(json, passed)) passed.run();
    return TAKEN;
  };
}

/** One call in a lane. */
class PassedText implements PassedCall {
  readonly #door: McpDoor;
  readonly #lane: CallLane;
  readonly #call: Call<Connection>;
  readonly #name: string;
  readonly #json: string;
  readonly args: Arguments;
  readonly #started = performance.now();
  #context: McpToolContext | undefined;

  constructor(
    door: McpDoor,
    lane: CallLane,
    call: Call<Connection>,
    name: string,
    json: string,
    args: Arguments,
  ) {
    this.#door = door;
    this.#lane = lane;
    this.#call = call;
    this.#name = name;
    this.#json = json;
    this.args = args;
  }

  get client(): string {
    return this.#lane.client;
  }

  get stop(): Stop {
    return this.#call;
  }

  get context(): McpToolContext {
    this.#context ??= this.#door.contextOf({
      client: this.#call.state.client,
      call: this.#call,
      params: { name: this.#name, arguments: this.args },
    });
    return this.#context;
  }

  answered(result: string, isError: boolean): void {
    this.#lane.record(this.#json, this.args, this.#started, isError);
    this.#call.peer.answer(this.#call, result);
  }

  becomes(work: Promise<ToolResult>): void {
    const { context } = this;
    const passage = { args: this.args, context, started: this.#started };
    const result = this.#lane.settle(passage, work);
    const { peer, state } = this.#call;
    peer.follow(this.#call, shapeLater(state.client, context, result));
  }

  /** Calls the tool here. */
  run(): void {
    let result: ToolResult | Promise<ToolResult>;
    try {
      result = this.#lane.tool.call(this.args, this.context);
    } catch (error) {
      result = failed(error);
    }
    if (result instanceof Promise || !isToolResult(result)) {
      this.becomes(Promise.resolve(result));
      return;
    }
    const shaped = this.#call.state.client.codec.shapeToolResult(result);
    this.answered(JSON.stringify(shaped), result.isError === true);
  }
}

async function failed(error: unknown): Promise<never> {
  throw error;
}
