import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { ask, echo, testCredentials } from "../../../test/support/quic-pair.ts";
import { connectQuic } from "./connect-quic.ts";
import type { ConnectionLimits } from "./connection.ts";
import { ConnectionError } from "./connection-error.ts";
import type { QuicConnection } from "./quic-connection.ts";
import { QuicEngine } from "./quic-engine.ts";
import { QuicListener } from "./quic-listener.ts";

const BODY = Buffer.alloc(1_000, 7);

/** Server and client with an engine each, so that one can die without the other. */
class TwoEngines implements AsyncDisposable {
  readonly server = new QuicEngine();
  readonly client = new QuicEngine();
  readonly lost: ConnectionError[] = [];
  readonly #limits: Partial<ConnectionLimits>;
  readonly #connections: QuicConnection[] = [];
  #onLost = Promise.withResolvers<void>();
  #listener: QuicListener | undefined;

  constructor(limits: Partial<ConnectionLimits> = {}) {
    this.#limits = limits;
  }

  get listener(): QuicListener {
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
    this.#listener = await QuicListener.open("127.0.0.1", 0, options, this.server);
    return this;
  }

  async connect(): Promise<QuicConnection> {
    const { client } = await testCredentials();
    const { port } = this.listener;
    const address = { scheme: "quic", host: "127.0.0.1", port } as const;
    const limits = this.#limits;
    const connection = await connectQuic(address, { credentials: client, limits }, this.client);
    this.#connections.push(connection);
    return connection;
  }

  /** Tries until the listener is back. */
  async reconnect(): Promise<QuicConnection> {
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
    await this.listener.close();
  }
}

for (const signal of ["SIGKILL", "SIGSEGV"] as const) {
  test(`a client's engine that dies of ${signal} under load costs its connections, no more`, async () => {
    await using both = await new TwoEngines().listen();
    const first = await both.connect();
    const pid = await both.client.pid();
    const failures = load(first);
    await ask(first, BODY);
    process.kill(pid ?? 0, signal);
    for (const error of await failures) {
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.trouble, "engine");
      assert.match(error.message, new RegExp(`the QUIC engine stopped \\(${signal}`));
    }
    assert.equal((await first.closed).trouble, "engine");
    const second = await both.connect();
    assert.deepEqual(await ask(second, BODY), BODY);
    assert.notEqual(await both.client.pid(), pid);
  });

  test(`a listener whose engine dies of ${signal} under load listens again at its address`, async () => {
    await using both = await new TwoEngines({ keepAlive: 600 }).listen();
    const first = await both.connect();
    const pid = await both.server.pid();
    const { address } = both.listener;
    const failures = load(first);
    await ask(first, BODY);
    process.kill(pid ?? 0, signal);
    await both.whenLost;
    assert.equal(both.lost[0]?.trouble, "engine");
    const second = await both.reconnect();
    assert.equal(both.listener.address, address);
    assert.deepEqual(await ask(second, BODY), BODY);
    assert.notEqual(await both.server.pid(), pid);
    // The client learns it by its port being closed for a moment, or by silence.
    for (const error of await failures) {
      assert.ok(error instanceof ConnectionError);
      assert.ok(["network", "silent", "idle"].includes(error.trouble), error.message);
    }
  });
}

test("a peer that falls silent is given up", async () => {
  await using both = await new TwoEngines({ keepAlive: 300 }).listen();
  const connection = await both.connect();
  const pid = (await both.server.pid()) ?? 0;
  process.kill(pid, "SIGSTOP");
  try {
    const answer = ask(connection, BODY);
    await assert.rejects(answer, { trouble: "silent", code: "timeout" });
    assert.equal((await connection.closed).trouble, "silent");
  } finally {
    process.kill(pid, "SIGCONT");
  }
});

test("a connection that nobody uses is kept alive", async () => {
  await using both = await new TwoEngines({ keepAlive: 200, idleTimeout: 900 }).listen();
  const connection = await both.connect();
  let isClosed = false;
  void connection.closed.then(() => (isClosed = true));
  // Longer than the idle timeout, which is what is tried.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  assert.equal(isClosed, false);
  assert.deepEqual(await ask(connection, BODY), BODY);
});

test("the engine ends with its last connection, and with the program", async () => {
  const both = await new TwoEngines().listen();
  const connection = await both.connect();
  const pids = [await both.client.pid(), await both.server.pid()];
  await connection.close();
  await both.listener.close();
  for (const pid of pids) await gone(pid ?? 0);

  const { spawn } = await import("node:child_process");
  const script = `
    const { QuicListener } = await import(${JSON.stringify(import.meta.resolve("./quic-listener.ts"))});
    const { sharedEngine } = await import(${JSON.stringify(import.meta.resolve("./quic-engine.ts"))});
    const credentials = JSON.parse(process.env.CREDENTIALS);
    await QuicListener.open("127.0.0.1", 0, { credentials, stream() {} });
    console.log(await sharedEngine.pid());
  `;
  const { server } = await testCredentials();
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    env: { CREDENTIALS: JSON.stringify(server) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  child.kill("SIGKILL");
  await gone(Number(line.toString()));
});

/** Calls without pause until the connection fails; then what each caller was told. */
async function load(connection: QuicConnection): Promise<unknown[]> {
  const caller = async (): Promise<unknown> => {
    try {
      for (;;) await ask(connection, BODY);
    } catch (error) {
      return error;
    }
  };
  return Promise.all(Array.from({ length: 8 }, caller));
}

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
