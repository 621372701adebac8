import assert from "node:assert/strict";

import { decodeResponse } from "../../src/protocol/bus/codec.ts";
import { lengthPrefixedDecoder, MAX_FRAME } from "../../src/wire/framing/length-prefixed.ts";
import { connect } from "../../src/wire/quic/transport.ts";
import type { BidiStream, Connection, Credentials } from "../../src/wire/quic/connection.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { type HostileExchange, HostileFrames } from "./hostile-frames.ts";
import { patiently } from "./patiently.ts";

/** Exchanges at once. */
const AT_ONCE = 32;
const MiB = 1024 * 1024;

interface Slot {
  connection: Promise<Connection> | undefined;
}

/** Speaks with an orchestrator on streams, and knows what must come back. */
export class BusFuzzer implements AsyncDisposable {
  readonly #random: SeededRandom;
  readonly #frames: HostileFrames;
  readonly #dial: () => Promise<Connection>;
  /** Over TLS, what is sent beyond a frame is taken for the next request. */
  readonly #isShared: boolean;
  readonly #good: Slot = { connection: undefined };
  /** For what may cost the connection. */
  readonly #bad: Slot = { connection: undefined };
  readonly outcomes = { answered: 0, refused: 0, broken: 0 };

  constructor(random: SeededRandom, address: string, credentials: Credentials) {
    this.#random = random;
    this.#frames = new HostileFrames(random);
    this.#isShared = address.startsWith("tls:");
    this.#dial = () => connect(address, { credentials });
  }

  /** So many exchanges, some at a time. */
  async send(count: number): Promise<void> {
    let left = count;
    const work = async (): Promise<void> => {
      while (left-- > 0) await this.#exchange(this.#frames.next());
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { connection } of [this.#good, this.#bad]) await (await connection)?.close();
  }

  async #exchange(exchange: HostileExchange): Promise<void> {
    const isBad = exchange.isMisframed === true || exchange.leaving !== "end";
    const connection = await this.#open(isBad ? this.#bad : this.#good);
    const { bytes, requestId } = exchange;
    // Over TLS a side has no end of its own that could be left out.
    const leaving = exchange.leaving === "leave" && this.#isShared ? "end" : exchange.leaving;
    const stream = connection.openStream();
    if (leaving === "reset" || (exchange.isMisframed === true && this.#isShared)) {
      stream.write(bytes).catch(() => {});
      if (this.#random.once(2)) await new Promise((resolve) => setImmediate(resolve));
      stream.reset(this.#random.below(4));
      this.outcomes.broken++;
      return;
    }
    const sent = leaving === "end" ? stream.end(bytes) : stream.write(bytes);
    sent.catch(() => {});
    const about = (): string => `an answer to ${bytes.toString("hex").slice(0, 400)} (${leaving})`;
    const body = await patiently(
      about,
      leaving === "leave" ? firstFrame(stream) : lastFrame(stream),
    );
    if (leaving === "leave") stream.reset();
    if (!Buffer.isBuffer(body)) {
      // Whoever breaks off too much loses the connection.
      const mayBe = requestId === undefined || (isBad && connection.isClosed);
      assert.ok(mayBe, `There was not ${about()}: ${String(body)}`);
      this.outcomes.broken++;
      return;
    }
    const response = decodeResponse(body);
    if (requestId === undefined) {
      this.outcomes.refused++;
    } else {
      assert.equal(response.requestId, requestId, about());
      this.outcomes.answered++;
    }
  }

  /** A connection; another one where the last was broken off. */
  async #open(slot: Slot): Promise<Connection> {
    const open = await slot.connection;
    if (open?.isClosed === false) return open;
    slot.connection = this.#dial();
    return slot.connection;
  }
}

/** The last frame of an answer; or why it was broken off. */
async function lastFrame(stream: BidiStream): Promise<unknown> {
  try {
    return framesOf(await stream.readAll(MiB)).at(-1);
  } catch (error) {
    return error;
  }
}

/** The first frame of an answer, whose end may not come. */
async function firstFrame(stream: BidiStream): Promise<unknown> {
  let bytes = Buffer.alloc(0);
  try {
    for await (const chunk of stream.chunks()) {
      bytes = Buffer.concat([bytes, chunk]);
      const [first] = framesOf(bytes);
      if (first !== undefined) return first;
    }
  } catch (error) {
    return error;
  }
  return undefined;
}

function framesOf(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  const decoder = lengthPrefixedDecoder(MAX_FRAME, {
    frame: (body) => frames.push(body),
    oversize: () => {},
    truncated: () => {},
  });
  decoder.push(bytes);
  return frames;
}
