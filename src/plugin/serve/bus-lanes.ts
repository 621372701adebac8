import type { StopListener } from "../../base/stop.ts";
import type { ToolRequest } from "../../protocol/bus/plugin.gen.ts";
import type { PassedExchange } from "../../protocol/bus/serve.ts";
import { toToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { fromToolRequest } from "../../protocol/bus/shape/tool-shape.ts";
import { readTime } from "../../base/event-loop.ts";
import { CallLane } from "../../tool/lane/call-lane.ts";
import { type Arguments, type PassedCall, textResult, type ToolResult } from "../../tool/tool.ts";
import type { Connection } from "../../wire/quic/connection.ts";
import type { BusContext } from "../bus-context.ts";
import type { Guest } from "../guests.ts";
import { isControl } from "./serve-control.ts";
import { type Bus, contextOf } from "./serve-bus.ts";

type Lane = CallLane<BusContext>;

interface Opened {
  /** Undefined for a tool that gets none. */
  readonly lane: Lane | undefined;
  /** The session and folder of the call before, where they were not those of the lane. */
  other: string;
}

/** The lanes of one connection, by the names of tools. */
interface Lanes {
  readonly guest: Guest;
  readonly byTool: Map<string, Opened>;
}

/**
 * The calls that come over the bus and can be passed on as they are. A tool gets a lane with its first
 * call on a connection, which takes the whole way.
 */
export class BusLanes {
  readonly #bus: Bus;
  readonly #lanes = new WeakMap<Connection, Lanes>();

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Passes a call on that has a lane. False where it takes the whole way. */
  readonly take = (request: ToolRequest, call: PassedExchange): boolean => {
    const lane = this.#laneOf(request, call);
    const args: Arguments = request.arguments ?? {};
    if (lane?.pass === undefined || !lane.fits(args)) return false;
    return lane.pass(new PassedBusCall(this.#bus, lane, request, call), args);
  };

  #laneOf(request: ToolRequest, call: PassedExchange): Lane | undefined {
    const { toolName: name, provider, traceParent } = request;
    const guest = this.#bus.guests.of(call.connection);
    if (isControl(name)) return undefined;
    // A plugin may call while it answers a call itself, and these two are said for one call.
    if (guest.isPlugin || provider !== "" || traceParent !== "") return undefined;
    const tool = this.#bus.offer.tools.get(name);
    if (tool === undefined || !guest.mayCall(name, this.#bus.tools.ownerOf(name))) return undefined;
    const lanes = this.#lanesOf(call.connection, guest);
    const opened = lanes.get(name);
    if (opened !== undefined && opened.lane === undefined) return undefined;
    if (opened?.lane?.tool === tool && opened.lane.isOpen) {
      const { lane } = opened;
      const other = isCallerContext(lane.context, request)
        ? ""
        : `${request.sessionId}\n${request.project}`;
      const isNew = opened.other !== other;
      opened.other = other;
      if (other === "") return lane;
      // To open a lane pays only if calls follow in it: a bridge may have several clients on a connection.
      if (isNew) return undefined;
    }
    const context = contextOf(this.#bus, fromToolRequest(request), call);
    const found = CallLane.open(this.#bus.offer.tools, name, context);
    lanes.set(name, { lane: found === "later" ? undefined : found, other: "" });
    return undefined;
  }

  #lanesOf(connection: Connection, guest: Guest): Lanes["byTool"] {
    const known = this.#lanes.get(connection);
    if (known?.guest === guest) return known.byTool;
    const byTool: Lanes["byTool"] = new Map();
    this.#lanes.set(connection, { guest, byTool });
    return byTool;
  }
}

/** Whether a call is made in the same session and folder as the one that a lane was opened with. */
function isCallerContext(
  { session = "", named }: BusContext,
  { sessionId, project }: ToolRequest,
): boolean {
  return session === sessionId && named === project;
}

/** A call over the bus that is passed on. */
class PassedBusCall implements PassedCall {
  readonly #bus: Bus;
  readonly #lane: Lane;
  readonly #request: ToolRequest;
  readonly #call: PassedExchange;
  readonly #started = readTime();
  #context: BusContext | undefined;

  constructor(bus: Bus, lane: Lane, request: ToolRequest, call: PassedExchange) {
    this.#bus = bus;
    this.#lane = lane;
    this.#request = request;
    this.#call = call;
  }

  get client(): string {
    return this.callerContext.caller.client;
  }

  get callerContext(): PassedCall["callerContext"] {
    return this.#lane.callerContext;
  }

  get json(): string {
    return JSON.stringify(this.args);
  }

  get args(): Arguments {
    return this.#request.arguments ?? {};
  }

  get meta(): undefined {
    return undefined;
  }

  get context(): BusContext {
    if (this.#context === undefined) {
      this.#context = contextOf(this.#bus, fromToolRequest(this.#request), this.#call);
      this.#context.project = this.callerContext.project;
    }
    return this.#context;
  }

  onStop(listener: StopListener): void {
    this.#call.stop.add(listener);
  }

  said(text: string): void {
    if (this.#lane.record(this.args, this.#started, readTime(), false)) this.#call.said(text);
    else this.fallBackTo(Promise.resolve(textResult(text)));
  }

  answered(result: string, isError: boolean): void {
    const value = JSON.parse(result) as ToolResult;
    this.fallBackTo(Promise.resolve(isError ? { ...value, isError } : value));
  }

  fallBackTo(work: Promise<ToolResult>): void {
    const { args, context } = this;
    const result = this.#lane.settle({ args, context, started: this.#started }, work);
    this.#call.fallBackTo(
      result.then((value) => ({ case: "toolCall", value: toToolResponse(value) })),
    );
  }
}
