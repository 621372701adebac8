import type { SeededRandom } from "../support/seeded-random.ts";
import { encodeWsFrame, type Frame, OPCODE } from "./raw-websocket.ts";

const some = Buffer.from("{}");
const { text, ping, close, continuation } = OPCODE;

/** What RFC 6455 says must fail the connection, by the section that says so. */
const VIOLATIONS: readonly (readonly [section: string, frames: readonly Frame[]])[] = [
  ["5.1", [{ opcode: text, payload: some, masked: false }]],
  ["5.2", [{ opcode: text, payload: some, reserved: 4 }]],
  ["5.2", [{ opcode: ping, payload: some, reserved: 2 }]],
  ["5.2", [{ opcode: text, payload: some, reserved: 1 }]],
  ["5.2", [3, 4, 5, 6, 7].map((opcode) => ({ opcode, payload: some }))],
  ["5.2", [{ opcode: 11, payload: some }]],
  ["5.2", [{ opcode: 15, payload: some }]],
  ["5.2", [{ opcode: text, payload: some, length: 1n << 63n }]],
  ["5.2", [{ opcode: text, payload: some, length: 1n << 53n }]],
  ["5.4", [{ opcode: continuation, payload: some }]],
  [
    "5.4",
    [
      { opcode: text, payload: some, fin: false },
      { opcode: text, payload: some },
    ],
  ],
  ["5.5", [{ opcode: ping, payload: some, fin: false }]],
  ["5.5", [{ opcode: ping, payload: Buffer.alloc(126) }]],
  ["5.5.1", [{ opcode: close, payload: Buffer.alloc(1) }]],
  ["7.4", [{ opcode: close, payload: Buffer.from([0x03, 0xed]) }]],
  ["7.4", [{ opcode: close, payload: Buffer.from([0x00, 0x01]) }]],
];

export interface BrokenFrames {
  readonly what: string;
  readonly bytes: Buffer;
  /** Whether the other side has to close the connection; otherwise the sender hangs up. */
  readonly mustClose: boolean;
}

/** Frames that break the rules, or that break off. */
export function brokenFrames(random: SeededRandom): BrokenFrames {
  if (random.once(4)) {
    const whole = encodeWsFrame({ opcode: text, payload: random.bytes(1 + random.below(300)) });
    const bytes = whole.subarray(0, random.below(whole.length));
    return { what: "cut off", bytes, mustClose: false };
  }
  if (random.once(8)) {
    // More than twice the longest message.
    const frame = { opcode: text, payload: some, length: 30n * 1024n * 1024n };
    return { what: "far too long", bytes: encodeWsFrame(frame), mustClose: true };
  }
  const [section, frames] = random.pick(VIOLATIONS);
  const bytes = Buffer.concat(frames.map(encodeWsFrame));
  return { what: `section ${section}: ${bytes.toString("hex")}`, bytes, mustClose: true };
}
