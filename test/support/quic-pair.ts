import { after, before } from "node:test";

import { connect, listen } from "../../src/wire/quic/transport.ts";
import type {
  BidiStream,
  Connection,
  ConnectionLimits,
  ConnectOptions,
  Credentials,
  Listener,
  ListenOptions,
} from "../../src/wire/quic/connection.ts";
import type { ConnectionError } from "../../src/wire/quic/connection-error.ts";
import { encodeFrame } from "../../src/wire/framing/length-prefixed.ts";
import { TestCa } from "./quic-certificates.ts";

export const MiB = 1024 * 1024;
/** A frame of the greatest size, and its prefix. */
export const LIMIT = 16 * MiB + 4;

let made: Promise<{ ca: TestCa; server: Credentials; client: Credentials }> | undefined;

/** Certificates for both sides, made once. */
export function testCredentials(): NonNullable<typeof made> {
  made ??= makeCredentials();
  return made;
}

async function makeCredentials(): Promise<Awaited<NonNullable<typeof made>>> {
  const ca = await TestCa.make();
  return { ca, server: await ca.issue("orchestrator"), client: await ca.issue("plugin-client") };
}

export type Scheme = "quic" | "tls";

export type Handle = (stream: BidiStream, connection: Connection) => Promise<void>;

export interface PairOptions {
  readonly scheme?: Scheme;
  readonly handle?: Handle;
  readonly limits?: Partial<ConnectionLimits>;
  readonly listen?: Partial<ListenOptions>;
  readonly connect?: Partial<ConnectOptions>;
}

/** A listener and a way to connect to it. */
export class TestPair implements AsyncDisposable {
  readonly listener: Listener;
  readonly accepted: Connection[];
  readonly refusals: ConnectionError[];
  /** What the server's handlers failed with. */
  readonly failures: Error[];
  readonly #options: PairOptions;
  readonly #connections: Connection[] = [];
  readonly #refused: Promise<ConnectionError>;

  private constructor(listener: Listener, seen: Seen, options: PairOptions) {
    this.#refused = seen.refused.promise;
    this.listener = listener;
    this.accepted = seen.accepted;
    this.refusals = seen.refusals;
    this.failures = seen.failures;
    this.#options = options;
  }

  static async open(options: PairOptions = {}): Promise<TestPair> {
    const { scheme = "quic", handle = echo, limits = {} } = options;
    const { server } = await testCredentials();
    const refused = Promise.withResolvers<ConnectionError>();
    const seen: Seen = { accepted: [], refusals: [], failures: [], refused };
    const listener = await listen(`${scheme}://127.0.0.1:0`, {
      credentials: server,
      limits,
      stream: (stream, connection) => {
        handle(stream, connection).catch((error: Error) => seen.failures.push(error));
      },
      connected: (connection) => seen.accepted.push(connection),
      refused: (reason) => {
        seen.refusals.push(reason);
        refused.resolve(reason);
      },
      ...options.listen,
    });
    return new TestPair(listener, seen, options);
  }

  /** The first client that was not let in, also one to come. */
  async refusal(): Promise<ConnectionError> {
    return this.refusals[0] ?? (await this.#refused);
  }

  async connect(options: Partial<ConnectOptions> = {}): Promise<Connection> {
    const { client } = await testCredentials();
    const { limits = {} } = this.#options;
    const connection = await connect(this.listener.address, {
      credentials: client,
      limits,
      ...this.#options.connect,
      ...options,
    });
    this.#connections.push(connection);
    return connection;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
    await this.listener[Symbol.asyncDispose]();
  }
}

interface Seen {
  readonly accepted: Connection[];
  readonly refusals: ConnectionError[];
  readonly failures: Error[];
  readonly refused: PromiseWithResolvers<ConnectionError>;
}

/** Answers with what was asked. */
export async function echo(stream: BidiStream): Promise<void> {
  await stream.end(await stream.readAll(LIMIT));
}

/** Asks and reads the whole answer. */
export async function ask(connection: Connection, body: Uint8Array): Promise<Buffer> {
  const stream = connection.openStream();
  void stream.end(encodeFrame(body));
  const answer = await stream.readAll(LIMIT);
  return answer.subarray(4);
}

/**
 * Keeps this process's QUIC engine running for all tests of a file, as a program does that listens.
 * Without it each test would start an engine of its own, which takes longer than most tests.
 */
export function keepEngine(): void {
  let listener: Listener;
  before(async () => {
    const { server } = await testCredentials();
    listener = await listen("quic://127.0.0.1:0", { credentials: server, stream: () => {} });
  });
  after(() => listener[Symbol.asyncDispose]());
}
