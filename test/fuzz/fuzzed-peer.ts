import { EventEmitter, once } from "node:events";
import { Readable, Writable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";

import { request } from "../../src/rpc/method.ts";
import { Peer } from "../../src/rpc/peer.ts";
import { route, routes } from "../../src/rpc/route.ts";
import type { ChannelLimits } from "../../src/wire/channel.ts";
import { streamChannel } from "../../src/wire/channel/stream.ts";
import { TEST_DIALECT } from "../support/wire-tap.ts";

const CHUNK = 64 * 1024;

/** A checked method that answers at once, one that answers later, one that fails. */
const ROUTES = routes<undefined>(
  route(
    request<{ text: string }>("now", (value) =>
      typeof (value as { text?: unknown }).text === "string"
        ? undefined
        : { path: ["text"], says: "must be a string" },
    ),
    ({ text }) => text.length,
  ),
  route(request<object>("later"), async (params) => {
    await turn();
    return Object.keys(params).length;
  }),
  route(request<Record<string, Record<string, string>>>("fail"), async (params) =>
    params.a?.b?.toUpperCase().at(1),
  ),
);

export interface FuzzedPeerOptions {
  readonly limits?: Partial<ChannelLimits>;
  /** Keeps each answer; otherwise they are only counted, and the sentinels' kept. */
  readonly keep?: boolean;
}

/** A peer over a stream channel, fed with bytes; what it answers is read as lines. */
export class FuzzedPeer implements AsyncDisposable {
  readonly answers: string[] = [];
  count = 0;
  readonly #input = new Readable({ read() {} });
  readonly #peer: Peer;
  readonly #changed = new EventEmitter();
  readonly #seen = new Set<string>();
  #sentinels = 0;

  constructor({ limits = {}, keep = false }: FuzzedPeerOptions = {}) {
    let rest = "";
    const output = new Writable({
      decodeStrings: false,
      write: (text: string, _, done) => {
        const isOneLine = rest === "" && text.indexOf("\n") === text.length - 1;
        const lines = isOneLine ? [text.slice(0, -1), ""] : (rest + text).split("\n");
        rest = lines.pop() ?? "";
        this.count += lines.length;
        if (keep) this.answers.push(...lines);
        for (const line of lines.slice(-2)) this.#seen.add(line.slice(0, 60));
        this.#changed.emit("answer");
        done();
      },
    });
    const channel = streamChannel(this.#input, output, { limits });
    this.#peer = new Peer(channel, undefined, { dialect: TEST_DIALECT, routes: ROUTES });
  }

  /** Gives the peer bytes as a socket would, in chunks of 64 KiB. */
  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += CHUNK) {
      this.#input.push(bytes.subarray(at, at + CHUNK));
    }
  }

  /** Waits until everything before has its answer: a last request is answered after all of it. */
  async settled(): Promise<void> {
    const id = `"sentinel ${++this.#sentinels}"`;
    // Calls that answer later take one turn; two rounds of asking outlive them.
    await turn();
    await turn();
    this.push(Buffer.from(`\n{"jsonrpc":"2.0","id":${id},"method":"later"}\n`));
    const answer = `{"jsonrpc":"2.0","id":${id},"result":0}`;
    while (!this.#seen.has(answer)) await once(this.#changed, "answer");
    this.#seen.clear();
    this.count--;
    const at = this.answers.lastIndexOf(answer);
    if (at >= 0) this.answers.splice(at, 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peer.close();
  }
}
