import { now, readTime } from "../../../base/event-loop.ts";
import type { StopListener } from "../../../base/stop.ts";
import { isSearched } from "../../../base/text/masked-json.ts";
import { Call } from "../../../rpc/call.ts";
import type { Held } from "../../../rpc/in-flight.ts";
import type { HeldId } from "../../../rpc/message/id.ts";
import type { Peer } from "../../../rpc/peer.ts";
import { TAKEN } from "../../../rpc/peer-options.ts";
import { CallLane } from "../../../tool/lane/call-lane.ts";
import { isToolResult, TextResult } from "../../../tool/text-result.ts";
import type { Arguments, PassedCall, ToolResult } from "../../../tool/tool.ts";
import type { Connection } from "./connection.ts";
import type { McpDoor } from "./door.ts";
import {
  type CallParts,
  callParts,
  heldId,
  ID_FIRST,
  ID_LAST,
  LONGEST_CALL_TEXT,
} from "./call-text.ts";
import type { JsonObject } from "../json-object.ts";
import { shapeLater } from "./serve-tools.ts";
import type { McpToolContext, Requested } from "./tool-context.ts";

type Lane = CallLane<McpToolContext>;

/**
 * The calls of one connection that need not be parsed as a whole. A tool gets a lane with its first
 * call, which is served in full.
 */
export class CallLanes {
  readonly #door: McpDoor;
  readonly #peer: Peer<Connection>;
  /** By the name that the tool has for the client; undefined where it gets none. */
  readonly #lanes = new Map<string, Lane | undefined>();
  readonly #stop: () => void;

  private constructor(door: McpDoor, peer: Peer<Connection>) {
    this.#door = door;
    this.#peer = peer;
    this.#stop = door.offer.tools.onChange(() => this.#lanes.clear());
  }

  /** Those of a connection. */
  static of(door: McpDoor, connection: Connection, peer: Peer<Connection>): CallLanes {
    if (connection.lanes === undefined) {
      connection.lanes = new CallLanes(door, peer);
      peer.readUnparsedBy(connection.lanes.take);
    }
    return connection.lanes;
  }

  /** The client is gone, or has introduced itself anew: what was decided for it does not hold. */
  close(): void {
    this.#lanes.clear();
    this.#stop();
  }

  open(name: string, context: McpToolContext): void {
    if (this.#lanes.has(name)) return;
    const lane = CallLane.open(this.#door.offer.tools, name, context);
    if (lane !== "later") this.#lanes.set(name, lane);
  }

  /** Serves a call that has a lane. Undefined for every other message, which is to be parsed. */
  readonly take = (text: string): typeof TAKEN | undefined => {
    if (text.length > LONGEST_CALL_TEXT) return undefined;
    const first = ID_FIRST.exec(text);
    const last = first === null ? ID_LAST.exec(text) : null;
    const id = first?.[1] ?? last?.[3];
    const name = first?.[2] ?? last?.[1];
    const matched = first?.[3] ?? last?.[2];
    if (id === undefined || name === undefined || matched === undefined) return undefined;
    const lane = this.#lanes.get(name);
    if (lane === undefined) return undefined;
    if (!lane.isOpen) {
      this.#lanes.delete(name);
      return undefined;
    }
    const parts = callParts(matched);
    if (parts === undefined) return undefined;
    const { json, meta } = parts;
    const args = parts.args as Arguments;
    if (!lane.fits(args)) return undefined;
    const peer = this.#peer;
    // Where nothing is in flight, the id of a call that is answered at once is only repeated.
    const held = lane.pass === undefined && peer.isIdle ? id : heldId(id);
    if (!peer.admits(held)) return undefined;
    if (lane.pass !== undefined) {
      const call = new PassedText(peer, held, lane, parts);
      if (lane.pass(call, args)) {
        peer.hold(call);
        return TAKEN;
      }
    }
    runHere(lane, peer, held, json, args, meta);
    return TAKEN;
  };
}

const NO_META: JsonObject = Object.freeze({});

/** Calls a tool here. One that answers at once has its answer at once. */
function runHere(
  lane: Lane,
  peer: Peer<Connection>,
  id: HeldId,
  json: string,
  args: Arguments,
  meta: JsonObject | undefined,
): void {
  const started = now();
  // Most tools that answer at once do not need the call.
  const request = (): Call<Connection> => new Call(peer, "tools/call", heldId(id));
  const context = lane.context.ofNext(request, meta ?? NO_META);
  context.project = lane.callerContext.project;
  let result: ToolResult | Promise<ToolResult>;
  try {
    result = lane.tool.call(args, context);
  } catch (error) {
    result = failed(error);
  }
  // After progress, an answer is sent later.
  if (result instanceof Promise || !isToolResult(result) || context.hasProgressed) {
    const { call } = context;
    peer.hold(call);
    goOn(lane, call, { args, context, started }, Promise.resolve(result));
    return;
  }
  const text = JSON.stringify(peer.state.client.codec.shapeToolResult(result));
  lane.record(json, started, now(), result.isError === true);
  peer.reply(id, text);
}

async function failed(error: unknown): Promise<never> {
  throw error;
}

/** Goes on with a call in full. */
function goOn(
  lane: Lane,
  call: Call<Connection>,
  passage: { readonly args: Arguments; readonly context: McpToolContext; readonly started: number },
  work: Promise<ToolResult>,
): void {
  const result = lane.settle(passage, work);
  call.peer.follow(call, shapeLater(call.state.client, passage.context, result));
}

/** A call that another server may answer. Its call is made if it is cancelled, or goes on in full. */
class PassedText implements PassedCall, Held<Connection>, Requested {
  readonly id: HeldId;
  readonly meta: JsonObject | undefined;
  readonly json: string;
  readonly #peer: Peer<Connection>;
  readonly #lane: Lane;
  /** As they were read; nobody changes them. */
  readonly #args: Arguments;
  readonly #started = readTime();
  #isAnswered = false;
  #call: Call<Connection> | undefined;
  #context: McpToolContext | undefined;
  #listener: StopListener | undefined;

  constructor(peer: Peer<Connection>, id: HeldId, lane: Lane, { json, args, meta }: CallParts) {
    this.meta = meta;
    this.#peer = peer;
    this.id = id;
    this.#lane = lane;
    this.json = json;
    this.#args = args as Arguments;
  }

  get call(): Call<Connection> {
    if (this.#call === undefined) {
      this.#call = new Call(this.#peer, "tools/call", this.id);
      if (this.#listener !== undefined) this.#call.add(this.#listener);
    }
    return this.#call;
  }

  get client(): string {
    return this.#lane.callerContext.caller.client;
  }

  get callerContext(): PassedCall["callerContext"] {
    return this.#lane.callerContext;
  }

  get args(): Arguments {
    return JSON.parse(this.json) as Arguments;
  }

  get context(): McpToolContext {
    if (this.#context === undefined) {
      this.#context = this.#lane.context.ofNext(this, this.meta ?? NO_META);
      this.#context.project = this.#lane.callerContext.project;
    }
    return this.#context;
  }

  /** The one who passes the call on. */
  onStop(listener: StopListener): void {
    this.#listener = listener;
  }

  get isSettled(): boolean {
    return this.#call?.isSettled ?? this.#isAnswered;
  }

  settle(): void {
    this.#isAnswered = true;
    this.#call?.settle();
  }

  answered(result: string, isError: boolean): void {
    if (this.#context?.hasProgressed === true) {
      this.fallBackTo(Promise.resolve(new TextResult(result, isError)));
      return;
    }
    const args = isSearched(this.json) ? this.json : this.#args;
    this.#lane.record(args, this.#started, readTime(), isError);
    this.#peer.answer(this, result);
  }

  said(text: string): void {
    this.answered(`{"content":[{"type":"text","text":${JSON.stringify(text)}}]}`, false);
  }

  fallBackTo(work: Promise<ToolResult>): void {
    const { args, context, call } = this;
    if (!call.isSettled) this.#peer.hold(call);
    goOn(this.#lane, call, { args, context, started: this.#started }, work);
  }
}
