import { type Stop, Stopper } from "../../../base/stop.ts";
import type { BidiStream, Refuse } from "../connection.ts";
import { ConnectionError } from "../connection-error.ts";
import { COMMAND, FIRST, LAST } from "../control-frame.ts";
import { type ReceiverOwner, StreamReceiver } from "./stream-receiver.ts";
import { type SenderOwner, StreamSender } from "./stream-sender.ts";
import type { HeldBytes } from "./held-bytes.ts";

/** What carries the frames of streams: the engine's pipe, or a socket. */
export interface FrameCarrier {
  send(kind: number, flags: number, id: number, payload?: Uint8Array, lead?: number): void;
  sendNumber(kind: number, id: number, value: number): void;
}

/** The connection that a stream belongs to. */
export interface StreamOwner {
  readonly address: string;
  readonly held: HeldBytes;
  /** Goes before the first bytes of a stream, where the carrier has several connections. */
  readonly lead: number | undefined;
  /** Bytes that may be sent before the other side says that it took some. */
  readonly writeWindow: number;
  /** Both directions have ended, or the exchange broke. */
  forget(stream: MultiplexedStream, isBroken: boolean): void;
}

/** A stream that shares its carrier with others. */
export class MultiplexedStream implements BidiStream, ReceiverOwner, SenderOwner {
  readonly id: number;
  readonly #carrier: FrameCarrier;
  readonly #connection: StreamOwner;
  readonly #receiver: StreamReceiver;
  readonly #sender: StreamSender;
  #isOpened: boolean;
  #isPatient = false;
  readonly #stopper = new Stopper();
  #isOver = false;

  constructor(carrier: FrameCarrier, connection: StreamOwner, id: number, isOpened: boolean) {
    this.id = id;
    this.#carrier = carrier;
    this.#connection = connection;
    this.#isOpened = isOpened;
    this.#receiver = new StreamReceiver(this);
    this.#sender = new StreamSender(this, connection.writeWindow);
  }

  /** Something was sent on it, or came. */
  get isOpened(): boolean {
    return this.#isOpened;
  }

  get stop(): Stop {
    return this.#stopper;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#sender.add(bytes, false);
  }

  end(bytes: Uint8Array = new Uint8Array()): Promise<void> {
    const sent = this.#sender.add(bytes, true);
    this.#settle();
    return sent;
  }

  readAll(limit: number, refuse?: Refuse): Promise<Buffer> {
    return this.#receiver.readAll(limit, refuse);
  }

  chunks(): AsyncGenerator<Buffer, void, void> {
    return this.#receiver.chunks();
  }

  patient(): void {
    this.#isPatient = true;
  }

  reset(code = 0): void {
    const message = `Cannot continue the exchange with ${this.#connection.address}: it was cancelled on this side.`;
    this.breakOff(new ConnectionError("cancelled", message), code);
  }

  /** Bytes came. They are lent. */
  receive(bytes: Buffer, isLast: boolean): void {
    this.#receiver.push(bytes, isLast);
    this.#settle();
  }

  giveRoom(bytes: number): void {
    this.#sender.giveRoom(bytes);
    this.#settle();
  }

  resetByPeer(code: number): void {
    const { address } = this.#connection;
    const message = `Cannot continue the exchange with ${address}: the other side aborted it (code ${code}).`;
    this.fail(new ConnectionError("reset", message, code));
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connection.forget(this, true);
    this.#receiver.fail(error);
    this.#sender.fail(error);
    this.#stopper.stop(error);
  }

  /** Whether nothing of an unfinished request came for a while. Called at intervals. */
  isStale(): boolean {
    // Until it is answered, it is not the peer that has something to say.
    if (this.#isPatient && !this.#sender.isDone) this.#receiver.wasHeard = true;
    return this.#receiver.isSilent();
  }

  get held(): HeldBytes {
    return this.#connection.held;
  }

  /** So many bytes were read, and as many may follow. */
  grant(bytes: number): void {
    this.#carrier.sendNumber(COMMAND.credit, this.id, bytes);
  }

  breakOff(error: ConnectionError, code = 0): void {
    if (this.#isOver) return;
    if (this.#isOpened) this.#carrier.sendNumber(COMMAND.reset, this.id, code);
    this.fail(error);
  }

  /** Sends a piece, for which there is room. */
  pass(piece: Uint8Array, isLast: boolean): void {
    const flags = (this.#isOpened ? 0 : FIRST) | (isLast ? LAST : 0);
    const lead = this.#isOpened ? undefined : this.#connection.lead;
    this.#isOpened = true;
    this.#carrier.send(COMMAND.write, flags, this.id, piece, lead);
  }

  #settle(): void {
    if (this.#isOver || !this.#receiver.isEnded || !this.#sender.isDone) return;
    this.#isOver = true;
    this.#connection.forget(this, false);
  }
}
