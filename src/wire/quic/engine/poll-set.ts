import { addressOf, fixedBuffer, type Pointer, pinnedBuffer } from "../../../base/process/ffi.ts";
import { native } from "./native.ts";

/** What can be awaited of a listener, a connection or a stream: SSL_POLL_EVENT_… */
export const WAIT = {
  failed: 1 << 0,
  listenerFailed: 1 << 1,
  connectionOver: 1 << 2,
  readFailed: 1 << 4,
  writeFailed: 1 << 5,
  readable: 1 << 6,
  writable: 1 << 7,
  connection: 1 << 8,
  stream: 1 << 9,
  mayOpen: 1 << 11,
} as const;

/** An entry of a poll set: a listener, a connection or a stream. */
export interface PollEntry {
  readonly ssl: Pointer;
  /** Its index in the set. Only the set changes it. */
  slot: number;
  /** Called with the events that have occurred. The entry may have been removed meanwhile. */
  ready(events: number): void;
}

const ITEM = 32;
const EVENTS = 16;
const HAPPENED = 24;
const TYPE_SSL = 2;
const NO_HANDLE_EVENTS = 1n;
const NOW = pinnedBuffer(16);
const NOW_ADDRESS = addressOf(NOW);
const COUNT = pinnedBuffer(8);
const COUNT_ADDRESS = addressOf(COUNT);
const ITEM_SIZE = BigInt(ITEM);

/** The listener, connections and streams that share one socket, asked about in one native call. */
export class PollSet {
  #items = fixedBuffer(16 * ITEM);
  #address = addressOf(this.#items);
  readonly #members: PollEntry[] = [];

  add(member: PollEntry, events: number): void {
    const slot = this.#members.push(member) - 1;
    if (this.#items.length < this.#members.length * ITEM) this.#grow();
    const at = slot * ITEM;
    member.slot = slot;
    this.#items.writeUInt32LE(TYPE_SSL, at);
    this.#items.writeUInt32LE(0, at + 4);
    this.#items.writeBigUInt64LE(member.ssl, at + 8);
    this.#items.writeUInt32LE(events, at + EVENTS);
    this.#items.fill(0, at + EVENTS + 4, at + ITEM);
  }

  await(member: PollEntry, events: number): void {
    if (member.slot >= 0) this.#items.writeUInt32LE(events, member.slot * ITEM + EVENTS);
  }

  remove(member: PollEntry): void {
    const { slot } = member;
    if (slot < 0) return;
    member.slot = -1;
    const last = this.#members.pop();
    if (last === undefined || last === member) return;
    this.#members[slot] = last;
    this.#items.copyWithin(slot * ITEM, last.slot * ITEM, last.slot * ITEM + ITEM);
    last.slot = slot;
  }

  /** Calls each member whose events have occurred. False if there was none. */
  settle(): boolean {
    const { length } = this.#members;
    if (length === 0) return false;
    native.SSL_poll(
      this.#address,
      BigInt(length),
      ITEM_SIZE,
      NOW_ADDRESS,
      NO_HANDLE_EVENTS,
      COUNT_ADDRESS,
    );
    if (COUNT.readUInt32LE() === 0) return false;
    const found: [PollEntry, number][] = [];
    for (let slot = 0; slot < length; slot += 1) {
      const events = this.#items.readUInt32LE(slot * ITEM + HAPPENED);
      const member = this.#members[slot];
      if (events !== 0 && member !== undefined) found.push([member, events]);
    }
    // Members come and go while they are told.
    for (const [member, events] of found) if (member.slot >= 0) member.ready(events);
    return true;
  }

  #grow(): void {
    const larger = fixedBuffer(this.#items.length * 2);
    this.#items.copy(larger);
    this.#items = larger;
    this.#address = addressOf(larger);
  }
}
