import type { JsonObject } from "@bufbuild/protobuf";

import { encodeRequest, type RequestInit } from "../../src/protocol/bus/codec.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { field } from "./protobuf-field.ts";

type Asked = NonNullable<RequestInit["request"]>;

/** What is sent on one stream, and what must come back. */
export interface HostileExchange {
  readonly bytes: Buffer;
  /** The id that the answer has to bear; none where the bytes are not one whole request. */
  readonly requestId?: string;
  /** How the sender leaves: it ends its side, breaks off, or forgets to do either. */
  readonly leaving: "end" | "reset" | "leave";
  /** Whether it is more or less than one frame: where streams share a connection, all may suffer. */
  readonly isMisframed?: boolean;
}

const VALUES: readonly JsonObject[] = [
  {},
  { text: "é🙂" },
  { __proto__: 1, constructor: { prototype: { polluted: 1 } } },
  { a: [1, [2, [3, { b: null }]]], c: true, d: -0, e: 1e308 },
  { text: "x".repeat(2000) },
];

const NAMES = ["", "none", "echo", "__proto__", "../../etc/passwd", "a\0b", "é🙂", "x".repeat(300)];

/** Cheap ones: a flood of them starts nothing and writes nothing. */
const ASKED: readonly ((random: SeededRandom) => Asked)[] = [
  () => ({ case: "health", value: {} }),
  () => ({ case: "listTools", value: {} }),
  () => ({ case: "listPrompts", value: {} }),
  (random) => ({ case: "boot", value: { config: { [random.pick(NAMES)]: "b" } } }),
  () => ({ case: "shutdown", value: { timeoutSeconds: -1 } }),
  (random) => ({ case: "register", value: { id: random.pick(NAMES), needsTools: ["*"] } }),
  (random) => ({
    case: "toolCall",
    value: { toolName: `no_${random.pick(NAMES)}`, arguments: random.pick(VALUES) },
  }),
  (random) => ({
    case: "promptGet",
    value: { promptName: random.pick(NAMES), arguments: { [random.pick(NAMES)]: "b" } },
  }),
  (random) => ({
    case: "storageRead",
    value: { path: random.pick(NAMES), storageType: random.pick(NAMES) },
  }),
  (random) => ({
    case: "storageWrite",
    value: { path: random.pick(NAMES), expectedVersion: -5n, storageType: "none" },
  }),
  () => ({ case: "storageDelete", value: { path: "../x", storageType: "none" } }),
  () => ({
    case: "storageList",
    value: { prefix: "/", pattern: "*".repeat(50), storageType: "no" },
  }),
  (random) => ({
    case: "streamStart",
    value: { streamId: random.pick(NAMES), toolName: "no", arguments: random.pick(VALUES) },
  }),
  (random) => ({ case: "streamCancel", value: { streamId: random.pick(NAMES) } }),
  (random) => ({ case: "unsubscribe", value: { subscriptionId: random.pick(NAMES) } }),
  (random) => ({
    case: "publish",
    value: { topic: random.pick(NAMES), eventType: "x", payload: random.pick(VALUES) },
  }),
];

/** What goes through to a plugin, or to a file. */
const DEAR: typeof ASKED = [
  (random) => ({ case: "toolCall", value: { toolName: "echo", arguments: random.pick(VALUES) } }),
  (random) => ({ case: "storageRead", value: { path: `a/${random.below(20)}.md` } }),
  (random) => ({
    case: "storageWrite",
    value: { path: `a/${random.below(20)}.md`, content: Buffer.from("x"), metadata: { a: 1 } },
  }),
  () => ({ case: "storageList", value: { prefix: "a/", pattern: "*.md" } }),
];

const MOST = 0xff_ff_ff_ff;

/** Exchanges to throw at an orchestrator. The same seed gives the same ones. */
export class HostileFrames {
  readonly #random: SeededRandom;
  #count = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  next(): HostileExchange {
    const random = this.#random;
    const chance = random.below(100);
    const frame = this.#request();
    if (chance < 55) return { ...frame, leaving: "end" };
    if (chance < 70)
      return { bytes: relabelled(mutated(random, frame.bytes.subarray(4))), leaving: "end" };
    if (chance < 76) return { bytes: relabelled(random.bytes(random.below(200))), leaving: "end" };
    if (chance < 82) return { bytes: relabelled(traps(random)), leaving: "end" };
    if (chance < 87) return this.#lying(frame.bytes);
    if (chance < 90) {
      const bytes = frame.bytes.subarray(0, random.below(frame.bytes.length));
      return { bytes, leaving: "end", isMisframed: true };
    }
    if (chance < 94) return { bytes: frame.bytes, leaving: "reset" };
    if (chance < 96) return { bytes: random.bytes(random.below(60)), leaving: "reset" };
    // The request, and more behind it.
    if (chance < 98) {
      const more = random.once(2) ? this.#request().bytes : random.bytes(random.below(100));
      return { bytes: Buffer.concat([frame.bytes, more]), leaving: "end", isMisframed: true };
    }
    // Whole, but its side is never ended.
    return { ...frame, leaving: "leave" };
  }

  #request(): { bytes: Buffer; requestId: string } {
    const random = this.#random;
    const requestId = `${random.pick(["r", "é🙂", "__proto__", "\0"])}${++this.#count}`;
    const asked = random.pick(random.once(100) ? DEAR : ASKED)(random);
    return { bytes: encodeRequest({ requestId, request: asked }), requestId };
  }

  /** The length that it says it has is not the one that it has. */
  #lying(frame: Buffer): HostileExchange {
    const random = this.#random;
    const bytes = Buffer.from(frame);
    const length = random.pick([0, 1, bytes.length, bytes.length + 100, 17 << 20, 1 << 31, MOST]);
    bytes.writeUInt32BE(length >>> 0);
    return { bytes, leaving: random.pick(["end", "reset"]), isMisframed: true };
  }
}

/** A frame of a body, with the right length. */
function relabelled(body: Buffer): Buffer {
  const frame = Buffer.alloc(4 + body.length);
  frame.writeUInt32BE(body.length);
  body.copy(frame, 4);
  return frame;
}

function mutated(random: SeededRandom, original: Buffer): Buffer {
  let bytes = original;
  for (let times = 1 + random.below(3); times > 0; times--) {
    const at = random.below(bytes.length + 1);
    const end = at + random.below(4);
    const middle = random.pick([
      Buffer.alloc(0),
      random.bytes(1 + random.below(3)),
      bytes.subarray(at, end + random.below(30)),
      Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f]),
    ]);
    bytes = Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(end)]);
  }
  return bytes;
}

/** What readers of Protobuf stumble over. */
function traps(random: SeededRandom): Buffer {
  return random.pick([
    // A varint that does not end, one that is too long, a field 0, groups, unknown wire types.
    () => Buffer.alloc(50, 0xff),
    () => Buffer.from([0x08, ...Array<number>(10).fill(0x80), 1]),
    () => Buffer.from([0x00, 0x00]),
    () => Buffer.from([0x0b, 0x0b, 0x0b, 0x0c]),
    () => Buffer.from([0x0e, 0x0f]),
    // An id that is no text, or that is there again and again.
    () => Buffer.from([0x0a, 0x02, 0xff, 0xfe, 0x6a, 0x00]),
    () => Buffer.from("\n\x01a".repeat(200), "latin1"),
    // Two requests in one.
    () => Buffer.from([0x0a, 0x01, 0x61, 0x6a, 0x00, 0xaa, 0x01, 0x00]),
    () => nested(1 + random.below(random.once(4) ? 2000 : 300)),
    () => Buffer.concat([Buffer.from([0x0a, 0x01, 0x61]), unknownFields(random.below(2000))]),
  ])();
}

/** The arguments of a tool call, so many lists deep. */
function nested(depth: number): Buffer {
  let value: Buffer = Buffer.from([0x08, 0x00]);
  for (let level = 0; level < depth; level++) value = field(6, field(1, value));
  const entry = Buffer.concat([field(1, Buffer.from("a")), field(2, value)]);
  return Buffer.concat([field(1, Buffer.from("deep")), field(20, field(2, field(1, entry)))]);
}

function unknownFields(count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, at) => field(1000 + at, Buffer.alloc(1))));
}
