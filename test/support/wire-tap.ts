import type { Dialect, PeerOptions } from "../../src/rpc/peer-options.ts";
import { Peer } from "../../src/rpc/peer.ts";
import type { Routes } from "../../src/rpc/route.ts";
import type { ChannelLimits } from "../../src/wire/channel.ts";
import { memoryPair } from "../../src/wire/channel/memory.ts";
import { RecordingSink } from "./recording-sink.ts";

export const TEST_DIALECT: Dialect = {
  name: "test",
  batches: true,
  nullIdIsNotification: false,
  cancel: { method: "$/cancel", answer: { code: -32800, message: "Cancelled" } },
  methodNotFound: () => "Method not found",
};

export interface WireTapOptions {
  readonly dialect?: Partial<Dialect>;
  readonly limits?: PeerOptions<undefined>["limits"];
  readonly channel?: Partial<ChannelLimits>;
}

/** A peer under test and the raw other end of its wire: texts in, texts out. */
export class WireTap extends RecordingSink implements AsyncDisposable {
  readonly peer: Peer;
  readonly reports: [event: string, fields: Record<string, unknown>][] = [];
  readonly #wire;

  constructor(routes: Routes<undefined>, options: WireTapOptions = {}) {
    super();
    const [near, far] = memoryPair({ closeGrace: 100, ...options.channel });
    this.#wire = far;
    this.peer = new Peer(near, undefined, {
      dialect: { ...TEST_DIALECT, ...options.dialect },
      routes,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      report: (event, fields) => this.reports.push([event, fields]),
    });
    far.receive(this);
  }

  /** Puts a message on the wire, as text or as what becomes one. */
  write(message: unknown): void {
    void this.#wire.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** The other end finishes sending, or breaks. */
  async hangUp(error?: Error): Promise<void> {
    if (error === undefined) await this.#wire[Symbol.asyncDispose]();
    else this.#wire.abort(error);
  }

  /** Writes messages and waits for so many answers. */
  async exchange(messages: readonly unknown[], answers = messages.length): Promise<string[]> {
    const before = this.messages.length;
    for (const message of messages) this.write(message);
    await this.until((tap) => tap.messages.length >= before + answers);
    return this.messages.slice(before);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.peer.close();
  }
}
