import { TrunklineError } from "../../base/errors.ts";
import { type LimitTable, limitsFor } from "../../base/limits.ts";
import { VERSION } from "../../base/version.ts";
import type { Call } from "../../rpc/call.ts";
import type { Method } from "../../rpc/method.ts";
import { Peer } from "../../rpc/peer.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import { route, routes } from "../../rpc/route.ts";
import type { Stop } from "../../base/stop.ts";
import type { Channel, Sink } from "../../wire/channel.ts";
import { acpDialect } from "./dialect.ts";
import { CLIENT_METHODS, type JsonObject, METHODS } from "./methods.ts";
import type {
  InitializeResult,
  PermissionParams,
  ReadFileParams,
  ReadFileResult,
  UpdateParams,
  WriteFileParams,
} from "./schema.gen.ts";
import { toWire } from "./session-errors.ts";

/** Who answers what an agent asks, and hears what it says. */
export interface AgentListener {
  /** A promise asks for a pause: the agent's output is left unread until it settles. */
  update(params: UpdateParams): Promise<void> | undefined;
  requestPermission(params: PermissionParams, stop: Stop): Promise<unknown>;
  readTextFile(params: ReadFileParams): Promise<unknown>;
  writeTextFile(params: WriteFileParams): Promise<unknown>;
}

export interface ConnectOptions {
  readonly listener: AgentListener;
  readonly limits?: LimitTable | undefined;
  readonly furnish?: (options: PeerOptions<undefined>) => PeerOptions<undefined>;
}

const PROTOCOL_VERSION = 1;

/** The client's side of ACP: another program's agent, as we drive it. */
export class AgentConnection implements AsyncDisposable {
  readonly agent: InitializeResult;
  readonly #peer: Peer;
  readonly #limits: LimitTable | undefined;

  private constructor(peer: Peer, agent: InitializeResult, limits: LimitTable | undefined) {
    this.#peer = peer;
    this.agent = agent;
    this.#limits = limits;
  }

  /** Says hello. Throws "unavailable" where the agent speaks another version. */
  static async open(channel: Channel<string>, options: ConnectOptions): Promise<AgentConnection> {
    const { listener, limits, furnish = (same) => same } = options;
    const held = new HeldChannel(channel);
    const peer = new Peer(held, undefined, furnish(listening(listener, held, limits)));
    try {
      const agent = await peer.request(
        METHODS.initialize,
        {
          protocolVersion: PROTOCOL_VERSION,
          clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: false },
          clientInfo: { name: "trunkline", version: VERSION },
        },
        timeoutOf("initialize", limits),
      );
      if (agent.protocolVersion !== PROTOCOL_VERSION) {
        const speaks = `it speaks version ${agent.protocolVersion} of ACP, not ${PROTOCOL_VERSION}`;
        throw new TrunklineError("unavailable", `Cannot talk to the agent: ${speaks}.`);
      }
      return new AgentConnection(peer, agent, limits);
    } catch (error) {
      await peer.close();
      throw error;
    }
  }

  get capabilities(): JsonObject {
    return this.agent.agentCapabilities ?? {};
  }

  /** Resolves when the agent is gone. */
  get ended(): Promise<void> {
    return this.#peer.ended;
  }

  request<P, R>(method: Method<P, R>, params: P, stop?: Stop): Promise<R> {
    // A prompt is limited by the session, which knows what progress is.
    const limit = method.name === METHODS.prompt.name ? {} : timeoutOf(method.name, this.#limits);
    return this.#peer.request(method, params, { ...limit, ...(stop ? { stop } : {}) });
  }

  cancel(sessionId: string): void {
    void this.#peer.notify(METHODS.cancel, { sessionId });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peer.close();
  }
}

function timeoutOf(name: string, limits: LimitTable | undefined): { timeout?: number } {
  const { timeout } = limitsFor(name, limits);
  return timeout === undefined ? {} : { timeout };
}

type Answer = (params: ReadFileParams, call: Call<undefined>) => Promise<ReadFileResult>;

function listening(
  listener: AgentListener,
  held: HeldChannel,
  limits: LimitTable | undefined,
): PeerOptions<undefined> {
  const sizeOf = (name: string): { maxSize?: number } => {
    const { maxSize } = limitsFor(name, limits);
    return maxSize === undefined ? {} : { maxSize };
  };
  const guard =
    <P>(handle: (params: P, call: Call<undefined>) => Promise<unknown>) =>
    async (params: P, call: Call<undefined>): Promise<unknown> => {
      try {
        return await handle(params, call);
      } catch (error) {
        throw toWire(error);
      }
    };
  return {
    dialect: acpDialect,
    routes: routes(
      route(CLIENT_METHODS.update, (params) => held.holdFor(listener.update(params))),
      route(
        CLIENT_METHODS.requestPermission,
        guard((params, call) => listener.requestPermission(params, call)),
      ),
      route(
        CLIENT_METHODS.readTextFile,
        guard<ReadFileParams>((params) => listener.readTextFile(params)) as Answer,
        sizeOf(CLIENT_METHODS.readTextFile.name),
      ),
      route(
        CLIENT_METHODS.writeTextFile,
        guard((params: WriteFileParams) => listener.writeTextFile(params)),
        sizeOf(CLIENT_METHODS.writeTextFile.name),
      ),
    ),
  };
}

/** A channel that leaves its input unread while what came of the last message is not done. */
class HeldChannel implements Channel<string> {
  readonly #channel: Channel<string>;
  #hold: Promise<void> | undefined;

  constructor(channel: Channel<string>) {
    this.#channel = channel;
  }

  holdFor(promise: Promise<void> | undefined): void {
    if (promise === undefined) return;
    const hold = promise.catch(() => {});
    this.#hold = hold;
  }

  receive(sink: Sink<string>): void {
    this.#channel.receive({
      message: (text) => {
        const full = sink.message(text);
        const hold = this.#hold;
        this.#hold = undefined;
        if (hold === undefined) return full;
        return full === undefined ? hold : Promise.all([hold, full]).then(() => {});
      },
      fault: (fault) => sink.fault(fault),
      end: (error) => sink.end(error),
    });
  }

  send(message: string): Promise<void> {
    return this.#channel.send(message);
  }

  abort(reason: Error): void {
    this.#channel.abort(reason);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#channel[Symbol.asyncDispose]();
  }
}
