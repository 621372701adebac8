import assert from "node:assert/strict";

import type { Connection, ConnectionLimits, Listener } from "../../src/wire/quic/connection.ts";
import { ConnectionError } from "../../src/wire/quic/connection-error.ts";
import { QuicEngine } from "../../src/wire/quic/quic-engine.ts";
import { connect, listen } from "../../src/wire/quic/transport.ts";
import { ask, echo, testCredentials } from "./quic-pair.ts";

export const BODY = Buffer.alloc(1_000, 7);

/** Server and client with an engine each, so that one can die without the other. */
export class TwoEngines implements AsyncDisposable {
  readonly server = new QuicEngine();
  readonly client = new QuicEngine();
  readonly lost: ConnectionError[] = [];
  readonly #limits: Partial<ConnectionLimits>;
  readonly #connections: Connection[] = [];
  #onLost = Promise.withResolvers<void>();
  #listener: Listener | undefined;

  constructor(limits: Partial<ConnectionLimits> = {}) {
    this.#limits = limits;
  }

  get listener(): Listener {
    assert.ok(this.#listener !== undefined);
    return this.#listener;
  }

  get whenLost(): Promise<void> {
    return this.#onLost.promise;
  }

  async listen(): Promise<this> {
    const { server } = await testCredentials();
    const options = {
      credentials: server,
      limits: this.#limits,
      stream: (stream: Parameters<typeof echo>[0]): void => void echo(stream).catch(() => {}),
      lost: (error: ConnectionError): void => {
        this.lost.push(error);
        this.#onLost.resolve();
      },
    };
    this.#listener = await listen("quic://127.0.0.1:0", options, this.server);
    return this;
  }

  async connect(): Promise<Connection> {
    const { client } = await testCredentials();
    const options = { credentials: client, limits: this.#limits };
    const connection = await connect(this.listener.address, options, this.client);
    this.#connections.push(connection);
    return connection;
  }

  /** Tries until the listener is back. */
  async reconnect(): Promise<Connection> {
    for (;;) {
      try {
        return await this.connect();
      } catch (error) {
        if (!(error instanceof ConnectionError) || error.trouble !== "refused") throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
    await this.listener[Symbol.asyncDispose]();
  }
}

/** Calls without pause until the connection fails; then what each caller was told. */
export async function load(connection: Connection): Promise<unknown[]> {
  const caller = async (): Promise<unknown> => {
    try {
      for (;;) await ask(connection, BODY);
    } catch (error) {
      return error;
    }
  };
  return Promise.all(Array.from({ length: 8 }, caller));
}
