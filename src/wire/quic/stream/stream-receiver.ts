import type { Refuse } from "../connection.ts";
import { ConnectionError } from "../connection-error.ts";
import type { HeldBytes, Holder } from "./held-bytes.ts";

/** So many intervals without a byte make a stream silent. */
const SILENT = 2;
/** Room is given back in steps: a message for each small piece would cost more than the piece. */
const STEP = 128 * 1024;

interface Whole {
  readonly limit: number;
  /** Not looked at yet. */
  refuse: Refuse | undefined;
  readonly promise: PromiseWithResolvers<Buffer>;
}

/** What the receiving half of a stream asks of its owner. */
export interface ReceiverOwner {
  readonly held: HeldBytes;
  /** So many bytes were taken, and as many may follow. */
  grant(bytes: number): void;
  breakOff(error: ConnectionError): void;
}

/** The receiving half of a stream (RFC 9000 § 3.2): keeps what arrives until it is read. */
export class StreamReceiver implements Holder {
  readonly #owner: ReceiverOwner;
  #chunks: Buffer[] = [];
  #size = 0;
  #owed = 0;
  #isEnded = false;
  #error: Error | undefined;
  #whole: Whole | undefined;
  #next: PromiseWithResolvers<void> | undefined;
  /** Something came since this was last set to false. */
  wasHeard = true;
  #silent = 0;

  constructor(owner: ReceiverOwner) {
    this.#owner = owner;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /**
   * Whether it has not ended and nothing came for two intervals. Called once in each: one alone says
   * nothing where the whole program stood still meanwhile.
   */
  isSilent(): boolean {
    this.#silent = this.wasHeard ? 0 : this.#silent + 1;
    this.wasHeard = false;
    return !this.#isEnded && this.#silent >= SILENT;
  }

  /** The bytes are lent. */
  push(bytes: Buffer, isLast: boolean): void {
    this.wasHeard = true;
    this.#isEnded ||= isLast;
    if (bytes.length > 0) {
      // A copy: what is lent is a small part of a large buffer, and would keep all of it.
      this.#chunks.push(Buffer.from(bytes));
      this.#size += bytes.length;
      this.#owner.held.add(this, bytes.length);
      // Its reader may have been given up for it.
      if (this.#error !== undefined) return;
    }
    if (this.#whole !== undefined) this.#fill(this.#whole, bytes.length);
    this.#next?.resolve();
  }

  fail(error: Error): void {
    if (this.#error !== undefined) return;
    const isWhole = this.#isEnded && this.#whole === undefined;
    // What came to its end before can still be read.
    if (isWhole) return;
    this.#error = error;
    this.#whole?.promise.reject(error);
    this.#letGo();
    this.#next?.resolve();
  }

  giveUp(held: number, limit: number): void {
    const message = `Cannot hold ${held} unread bytes: the limit of a connection is ${limit}.`;
    this.#owner.breakOff(new ConnectionError("limit", message));
  }

  readAll(limit: number, refuse?: Refuse): Promise<Buffer> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    const promise = Promise.withResolvers<Buffer>();
    this.#whole = { limit, refuse, promise };
    this.#fill(this.#whole, this.#size);
    return promise.promise;
  }

  async *chunks(): AsyncGenerator<Buffer, void, void> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#size -= chunk.length;
        this.#owner.held.remove(chunk.length);
        this.#took(chunk.length);
        yield chunk;
      } else if (this.#error !== undefined) {
        throw this.#error;
      } else if (this.#isEnded) {
        this.#letGo();
        return;
      } else {
        this.#next = Promise.withResolvers();
        await this.#next.promise;
        this.#next = undefined;
      }
    }
  }

  /** More bytes have arrived for a reader that wants the whole stream. */
  #fill(whole: Whole, bytes: number): void {
    const { limit, promise } = whole;
    const problem = this.#problemOf(whole);
    if (problem !== undefined) {
      this.#owner.breakOff(new ConnectionError("limit", problem));
    } else if (this.#size > limit) {
      const message = `Cannot read the whole stream: it is longer than the limit of ${limit} bytes.`;
      this.#owner.breakOff(new ConnectionError("limit", message));
    } else if (this.#isEnded) {
      promise.resolve(this.#joined());
      this.#letGo();
    } else {
      this.#took(bytes);
    }
  }

  #joined(): Buffer {
    const [first = Buffer.alloc(0)] = this.#chunks;
    return this.#chunks.length > 1 ? Buffer.concat(this.#chunks, this.#size) : first;
  }

  #problemOf(whole: Whole): string | undefined {
    const { refuse } = whole;
    if (refuse === undefined || this.#size < refuse.length) return undefined;
    whole.refuse = undefined;
    const [first = Buffer.alloc(0)] = this.#chunks;
    const isEnough = first.length >= refuse.length;
    return refuse.problem(isEnough ? first : Buffer.concat(this.#chunks, refuse.length));
  }

  #took(bytes: number): void {
    if (this.#isEnded) return;
    this.#owed += bytes;
    if (this.#owed < STEP) return;
    this.#owner.grant(this.#owed);
    this.#owed = 0;
  }

  #letGo(): void {
    this.#owner.held.leave(this, this.#size);
    this.#whole = undefined;
    this.#chunks = [];
    this.#size = 0;
  }
}
