import type { BidiStream, Connection, PeerCertificate } from "./connection.ts";
import type { ConnectionError } from "./connection-error.ts";

export interface RotatingOptions {
  /** Exchanges after which a new connection takes over. */
  readonly exchanges?: number;
}

const EXCHANGES = 5_000;

/**
 * One connection to those who use it, behind which a new one takes over now and then: both sides
 * keep something of every stream as long as its connection lives, and not every peer lets go of it.
 */
export class RotatingConnection implements Connection {
  readonly #dial: () => Promise<Connection>;
  readonly #limit: number;
  readonly #closed = Promise.withResolvers<ConnectionError>();
  readonly #retired = new Set<Connection>();
  #current: Connection;
  #exchanges = 0;
  #turning: Promise<void> | undefined;
  #isClosing = false;

  private constructor(first: Connection, dial: () => Promise<Connection>, limit: number) {
    this.#dial = dial;
    this.#limit = limit;
    this.#current = first;
    this.#watch(first);
  }

  static async open(
    dial: () => Promise<Connection>,
    { exchanges = EXCHANGES }: RotatingOptions = {},
  ): Promise<RotatingConnection> {
    return new RotatingConnection(await dial(), dial, exchanges);
  }

  get address(): string {
    return this.#current.address;
  }

  get peer(): PeerCertificate | undefined {
    return this.#current.peer;
  }

  get openStreams(): number {
    return (
      [...this.#retired].reduce((sum, each) => sum + each.openStreams, 0) +
      this.#current.openStreams
    );
  }

  get isClosed(): boolean {
    return this.#isClosing || this.#current.isClosed;
  }

  get closed(): Promise<ConnectionError> {
    return this.#closed.promise;
  }

  openStream(): BidiStream {
    this.#exchanges += 1;
    if (this.#exchanges > this.#limit && !this.isClosed) this.#turning ??= this.#turn();
    return this.#current.openStream();
  }

  async drain(): Promise<void> {
    this.#isClosing = true;
    await this.#turning;
    await Promise.all(this.#all().map((each) => each.drain()));
  }

  async close(code?: number, reason?: string): Promise<void> {
    this.#isClosing = true;
    await this.#turning;
    await Promise.all(this.#all().map((each) => each.close(code, reason)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #all(): Connection[] {
    return [...this.#retired, this.#current];
  }

  /** Until the new one is there, the old one serves; if there is none, it goes on serving. */
  async #turn(): Promise<void> {
    try {
      const next = await this.#dial();
      const old = this.#current;
      this.#current = next;
      this.#watch(next);
      this.#retired.add(old);
      void old.drain().then(() => this.#retired.delete(old));
    } catch {
      // The next turn tries again, and a peer that is gone is noticed by the old connection.
    } finally {
      this.#exchanges = 0;
      this.#turning = undefined;
    }
  }

  #watch(connection: Connection): void {
    void connection.closed.then((reason) => {
      if (this.#current === connection) this.#closed.resolve(reason);
    });
  }
}
