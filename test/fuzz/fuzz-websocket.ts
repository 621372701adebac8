import assert from "node:assert/strict";
import { EventEmitter } from "node:events";

import type { SeededRandom } from "../support/seeded-random.ts";
import { brokenFrames } from "./broken-websocket.ts";
import { type Ready, tokenOf } from "./fuzz-http.ts";
import { HostileLines } from "./hostile-lines.ts";
import { Ledger } from "./ledger.ts";
import { patiently } from "./patiently.ts";
import { encodeWsFrame, OPCODE, RawWebSocket, type WsListener } from "./raw-websocket.ts";
import { acpVocabulary } from "./vocabulary-acp.ts";

const BLOCK = 200;
const quiet: WsListener = { message: () => {}, pong: () => {} };

/** One client on /acp that sends hostile messages in well-formed frames, and knows what it is owed. */
class WsClient implements WsListener {
  readonly #random: SeededRandom;
  readonly #ledger = new Ledger({ nullIdIsNotification: true });
  readonly #changed = new EventEmitter();
  readonly #pings = new Set<string>();
  #socket: RawWebSocket | undefined;
  #lines: HostileLines | undefined;
  #count = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Connects, and begins two sessions. */
  async open(url: URL, token: string | undefined, cwd: string): Promise<void> {
    this.#socket = await RawWebSocket.open(url, token, this);
    const sessions: string[] = [];
    await this.#ask("initialize", { protocolVersion: 1 });
    for (let count = 0; count < 2; count++) {
      const { sessionId } = await this.#ask("session/new", { cwd, mcpServers: [] });
      sessions.push(String(sessionId));
    }
    this.#lines = new HostileLines(this.#random, acpVocabulary({ cwd, sessions }));
  }

  /** Sends so many frames of messages, then waits for all that it is owed. */
  async send(count: number): Promise<void> {
    for (let sent = 0; sent < count;) {
      const frames: Buffer[] = [];
      for (; frames.length < BLOCK && sent < count; sent++) frames.push(...this.#message());
      const bytes = Buffer.concat(frames);
      const chunks = this.#random.once(5) ? this.#random.cut(bytes, 3000) : [bytes];
      for (const chunk of chunks) await this.#socket?.write(chunk);
      await this.#ask("session/list", { cursor: "none" });
      assert.deepEqual(this.#ledger.surplus.slice(0, 10), [], "answer nothing");
    }
    await patiently(
      () => `answers to ${this.#ledger.missing.slice(0, 5).join("\n")}`,
      this.#until(() => this.#ledger.missing.length === 0 && this.#pings.size === 0),
    );
    const { nameless, unclear } = this.#ledger;
    const { came, due } = nameless;
    assert.ok(came >= due && came <= due + unclear, `${came} of ${due} errors without an id`);
  }

  /** Says goodbye, and waits for the same. */
  async close(): Promise<void> {
    const goodbye = encodeWsFrame({ opcode: OPCODE.close, payload: Buffer.from([0x03, 0xe8]) });
    await this.#socket?.write(goodbye);
    await patiently(() => "the connection to close", this.#socket?.closed ?? Promise.resolve());
    assert.equal(this.#socket?.closeCode, 1000);
  }

  message(text: string): void {
    const asked = this.#ledger.came(text);
    if (asked?.id !== undefined) {
      const answer = `{"jsonrpc":"2.0","id":${JSON.stringify(asked.id)},"result":{}}`;
      void this.#socket?.write(
        encodeWsFrame({ opcode: OPCODE.text, payload: Buffer.from(answer) }),
      );
    }
    this.#changed.emit("message", text);
  }

  pong(payload: string): void {
    assert.ok(this.#pings.delete(payload), "a pong that nobody asked for");
    this.#changed.emit("message", "");
  }

  /** One message in one frame or several, with control frames between them. */
  #message(): Buffer[] {
    const random = this.#random;
    const payload = this.#lines!.next();
    const isBinary = random.once(40);
    this.#ledger.message(payload, isBinary);
    const parts =
      random.once(4) && payload.length > 0 ? random.cut(payload, payload.length) : [payload];
    return parts.flatMap((part, index) => {
      const opcode = index > 0 ? OPCODE.continuation : isBinary ? OPCODE.binary : OPCODE.text;
      const frame = encodeWsFrame({ opcode, payload: part, fin: index === parts.length - 1 });
      return random.once(20) ? [frame, this.#control()] : [frame];
    });
  }

  #control(): Buffer {
    const payload = Buffer.from(`${++this.#count} ${"x".repeat(this.#random.below(100))}`);
    if (this.#random.once(3)) return encodeWsFrame({ opcode: OPCODE.pong, payload });
    this.#pings.add(payload.toString("latin1"));
    return encodeWsFrame({ opcode: OPCODE.ping, payload });
  }

  async #ask(method: string, params: object): Promise<Record<string, unknown>> {
    const id = `probe ${++this.#count}`;
    const payload = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    this.#ledger.message(payload, false);
    let answer: string | undefined;
    const start = `{"jsonrpc":"2.0","id":"${id}",`;
    const answered = this.#until((text) => text.startsWith(start) && (answer = text) !== "");
    await this.#socket?.write(encodeWsFrame({ opcode: OPCODE.text, payload }));
    await patiently(() => `the answer to ${method}`, answered);
    return (JSON.parse(answer ?? "") as { result?: Record<string, unknown> }).result ?? {};
  }

  /** Resolves when a message makes it so. */
  async #until(isOver: (text: string) => boolean): Promise<void> {
    if (isOver("")) return;
    const socket = this.#socket!;
    const over = Promise.withResolvers<void>();
    const look = (text: string): void => {
      if (isOver(text)) over.resolve();
    };
    this.#changed.on("message", look);
    const lost = socket.closed.then(() => {
      throw new Error(`It was closed with ${socket.closeCode}`);
    });
    await Promise.race([over.promise, lost]).finally(() => this.#changed.off("message", look));
  }
}

/** Speaks with a gateway over WebSockets: clients that are well-formed, and ones that are not. */
export class WebSocketFuzzer {
  readonly #random: SeededRandom;
  readonly #url: URL;
  readonly #token: string | undefined;
  readonly #cwd: string;
  broken = 0;

  constructor(random: SeededRandom, ready: Ready, cwd: string) {
    this.#random = random;
    this.#url = new URL(ready.url);
    this.#token = tokenOf(ready);
    this.#cwd = cwd;
  }

  /** So many messages, on some connections at a time. */
  async send(count: number, connections = 4): Promise<void> {
    const each = Math.ceil(count / connections);
    const work = async (): Promise<void> => {
      const client = new WsClient(this.#random);
      await client.open(this.#url, this.#token, this.#cwd);
      await client.send(each);
      await client.close();
    };
    const breaking = async (): Promise<void> => {
      for (let at = 0; at < count / 200; at++) await this.#break();
    };
    await Promise.all([breaking(), ...Array.from({ length: connections }, work)]);
  }

  async #break(): Promise<void> {
    this.broken++;
    const { what, bytes, mustClose } = brokenFrames(this.#random);
    using socket = await RawWebSocket.open(this.#url, this.#token, quiet);
    await socket.write(bytes);
    if (mustClose)
      await patiently(() => `the end of who breaks the rules (${what})`, socket.closed);
  }
}
