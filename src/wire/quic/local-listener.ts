import type { Socket } from "node:net";
import type { Credentials, Listener, ListenOptions } from "./connection.ts";
import { ConnectionError } from "./connection-error.ts";
import { formatAddress } from "./address.ts";
import type { QuicEngine } from "./quic-engine.ts";
import { QuicListener } from "./quic-listener.ts";
import { TlsListener } from "./tls/tls-listener.ts";

/** Free ports that are tried until one is free for TCP and UDP. */
const MOST_PORTS = 20;

/**
 * Takes connections of this machine at one port: over TLS, which is the faster one here, and over
 * QUIC, which is all that programs of other makers speak.
 */
export class LocalListener implements Listener {
  readonly #host: string;
  readonly #both: readonly [TlsListener, QuicListener];

  private constructor(host: string, both: readonly [TlsListener, QuicListener]) {
    this.#host = host;
    this.#both = both;
  }

  static async open(
    host: string,
    port: number,
    options: ListenOptions,
    engine: QuicEngine,
  ): Promise<LocalListener> {
    for (let attempt = 1; ; attempt += 1) {
      const tls = await TlsListener.open(host, port, options);
      try {
        const quic = await QuicListener.open(host, tls.port, options, engine);
        return new LocalListener(host, [tls, quic]);
      } catch (error) {
        await tls.close();
        const isTaken = error instanceof ConnectionError && /in use/i.test(error.message);
        if (port !== 0 || !isTaken || attempt >= MOST_PORTS) throw error;
      }
    }
  }

  get port(): number {
    return this.#both[0].port;
  }

  get address(): string {
    return formatAddress({ scheme: "any", host: this.#host, port: this.port });
  }

  async renew(credentials: Credentials): Promise<void> {
    await Promise.all(this.#both.map((listener) => listener.renew(credentials)));
  }

  take(socket: Socket): void {
    this.#both[0].take(socket);
  }

  async close(): Promise<void> {
    await Promise.all(this.#both.map((listener) => listener.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
