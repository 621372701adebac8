import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";

import { FleetStores } from "../../../test/support/fleet-stores.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/until.ts";
import type { SessionStore } from "../../session/store.ts";

const NEW = { id: "s1", cwd: "/a", agent: "x", notes: {} };

describe("WorkerStore", { skip: noNats }, () => {
  it("keeps each acknowledged event once when NATS is killed again and again", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const { store } = await fleet.worker();
    const sessions = await Promise.all(["a", "b", "c"].map((id) => store.create({ ...NEW, id })));
    const over = new AbortController();
    const acknowledged = new Map<number, number>();
    const speak = async (key: number): Promise<void> => {
      for (let at = 1; !over.signal.aborted; at++) {
        const appended = store.append(key, "agent", JSON.stringify({ at }));
        await appended.stored;
        acknowledged.set(key, at);
      }
    };
    const speaking = sessions.map(({ key }) => speak(key));
    const heard = (): number => [...acknowledged.values()].reduce((sum, each) => sum + each, 0);
    for (let kill = 0; kill < 3; kill++) {
      const before = heard();
      await until(() => heard() >= before + 30);
      await server.kill();
      await server.restart();
    }
    const before = heard();
    await until(() => heard() >= before + 30);
    over.abort();
    await Promise.all(speaking);
    const gateway = await fleet.gateway();
    for (const [at, { key }] of sessions.entries()) {
      const events = (await Array.fromAsync(gateway.read(["a", "b", "c"][at] ?? ""))).flat();
      const count = acknowledged.get(key) ?? 0;
      const range = Array.from({ length: count }, (_, index) => index + 1);
      assert.deepEqual(
        events.map(({ seq }) => seq),
        range,
      );
      assert.deepEqual(
        events.map(({ message }) => (message as { at: number }).at),
        range,
      );
    }
  });

  it("refuses events in words when too many wait for NATS, and goes on when it is back", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const { store } = await fleet.worker();
    const { key } = await store.create(NEW);
    await server.kill();
    const text = JSON.stringify("x".repeat(500_000));
    const appended = [];
    for (;;) {
      const next = store.append(key, "agent", text);
      if (next.failure !== undefined) {
        assert.match(next.failure.message, /^Cannot store events of session 's1': NATS has not/);
        break;
      }
      appended.push(next.stored);
      // Some 8 MB.
      assert.ok(appended.length < 25, "It takes events without end");
    }
    assert.deepEqual(
      (await Array.fromAsync(store.read("s1"))).flat(),
      [],
      "What NATS has not is not shown",
    );
    await server.restart();
    await Promise.all(appended);
    const next = store.append(key, "agent", "1");
    assert.equal(next.last, appended.length + 1);
    await next.stored;
  });

  it("restores the events of many messages as one row, and reads from its middle", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const [{ store: one }, { store: other }] = [await fleet.worker(), await fleet.worker()];
    const { key } = await one.create(NEW);
    for (let at = 1; at <= 5; at++) await one.append(key, "agent", String(at)).stored;
    await one.release(key);
    const { key: taken } = await other.hold("s1");
    const rows = await other.log.database.read((it) =>
      it.prepare("SELECT first, last FROM session_page").all(),
    );
    assert.deepEqual(
      rows.map(({ first, last }) => [first, last]),
      [[1, 5]],
    );
    assert.deepEqual(await messages(other, "s1"), [1, 2, 3, 4, 5]);
    const seen = (await Array.fromAsync(other.read("s1", 3))).flat();
    assert.deepEqual(
      seen.map(({ seq }) => seq),
      [4, 5],
    );
    await other.append(taken, "agent", "6").stored;
    await other.release(taken);
    await one.hold("s1");
    assert.deepEqual(await messages(one, "s1"), [1, 2, 3, 4, 5, 6]);
  });

  it("publishes after a restart what NATS had not acknowledged, if nobody else took the session", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const { worker, lost } = await crashWithTail(fleet, server);
    const again = await fleet.worker(worker.data);
    assert.equal(again.store.node, worker.store.node);
    assert.notEqual(again.store.holder, worker.store.holder);
    assert.equal((await again.store.hold("s1")).last, 4);
    assert.deepEqual(await messages(await fleet.gateway(), "s1"), [1, 2, ...lost]);
  });

  it("drops after a restart what NATS had not acknowledged, if another worker took the session", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const { worker } = await crashWithTail(fleet, server);
    const other = await fleet.worker();
    const { key, last } = await other.store.hold("s1");
    assert.equal(last, 2);
    await other.store.append(key, "agent", '"other"').stored;
    await other.store.release(key);
    const again = await fleet.worker(worker.data);
    // It read the session before it takes it: nobody may see what was never acknowledged.
    assert.deepEqual(await messages(again.store, "s1"), [1, 2, "other"]);
    const held = await again.store.hold("s1");
    assert.equal(held.last, 3);
    await again.store.append(held.key, "agent", '"again"').stored;
    assert.deepEqual(await messages(again.store, "s1"), [1, 2, "other", "again"]);
    assert.deepEqual(await messages(await fleet.gateway(), "s1"), [1, 2, "other", "again"]);
  });

  it("tells a worker that was paused, and woke up, that its session is lost", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const data = await fleet.folder();
    await using paused = new SpeakingWorker(server.url, fleet.subjects.pool, data);
    await paused.says("said 20");
    paused.signal("SIGSTOP");
    const { store } = await fleet.worker();
    const { key, last } = await store.hold("s1");
    assert.ok(last >= 20);
    await store.append(key, "agent", '"taken"').stored;
    paused.signal("SIGCONT");
    await paused.says("lost s1");
    await store.append(key, "agent", '"after"').stored;
    const events = (await Array.fromAsync(store.read("s1"))).flat();
    const said = events.map(({ message }) => message);
    const range = Array.from({ length: last }, (_, at) => at + 1);
    assert.deepEqual(said, [...range, "taken", "after"]);
    assert.ok(paused.acknowledged <= last, `${paused.acknowledged} of ${last} were acknowledged`);
  });

  it("splits an event that is larger than a message of this server", async () => {
    await using server = await NatsServer.start("max_payload: 4096");
    await using fleet = new FleetStores(server);
    const { store } = await fleet.worker();
    const { key } = await store.create(NEW);
    const texts = ["é".repeat(9_000), "b", "c".repeat(1_500), "d".repeat(1_500)];
    await Promise.all(texts.map((text) => store.append(key, "agent", JSON.stringify(text)).stored));
    assert.deepEqual(await messages(await fleet.gateway(), "s1"), texts);
    const notes = { text: "x".repeat(5_000) };
    await assert.rejects(store.describe(key, { notes }), /record of session 's1' is too large/);
    await store.describe(key, { notes: { text: "short" } });
  });

  it("says who has taken a session, and confirms to whom it belongs", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const one = await fleet.worker();
    const two = await fleet.worker();
    const { key } = await one.store.create(NEW);
    await one.store.confirm("s1");
    assert.equal(await two.store.holderOf("s1"), one.store.holder);
    fleet.alive.delete(one.store.holder);
    await two.store.hold("s1");
    await two.store.confirm("s1");
    // It has not published since, so only NATS knows.
    await assert.rejects(one.store.confirm("s1"), { code: "closed" });
    assert.deepEqual(fleet.lost, ["s1"]);
    // Who was opening it meanwhile could not leave it yet, and is told again.
    await assert.rejects(one.store.confirm("s1"), { code: "closed" });
    assert.deepEqual(fleet.lost, ["s1", "s1"]);
    await assert.rejects(one.store.describe(key, { title: "No" }), { code: "closed" });
    await one.store.release(key);
    assert.equal(await one.store.holderOf("s1"), two.store.holder);
  });

  it("opens no old state of a session again that another worker has taken meanwhile", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const one = await fleet.worker();
    const two = await fleet.worker();
    await one.store.create(NEW);
    fleet.alive.delete(one.store.holder);
    const { key } = await two.store.hold("s1");
    await two.store.append(key, "agent", "1").stored;
    // Who opens it here again, before it was left, must not get what is here.
    await assert.rejects(one.store.hold("s1"), { code: "conflict" });
    fleet.alive.add(one.store.holder);
    await two.store.release(key);
    const { last } = await one.store.hold("s1");
    assert.equal(last, 1);
  });
});

/** A worker that crashes with two events which only its own log has. */
async function crashWithTail(fleet: FleetStores, server: NatsServer) {
  const worker = await fleet.worker();
  const { key } = await worker.store.create(NEW);
  for (const text of ["1", "2"]) await worker.store.append(key, "agent", text).stored;
  const changes = worker.connection.nats.status();
  await server.kill();
  // A connection that is closed at the very moment at which the server ends makes the client throw.
  for await (const { type } of changes) if (type === "disconnect") break;
  const lost = ["three", "four"];
  for (const text of lost) worker.store.append(key, "agent", JSON.stringify(text));
  await worker.store.log.flush();
  await fleet.kill(worker);
  await server.restart();
  return { worker, lost };
}

async function messages(store: Pick<SessionStore, "read">, id: string): Promise<unknown[]> {
  return (await Array.fromAsync(store.read(id))).flat().map(({ message }) => message);
}

/** A process that creates a session, and appends numbers to it without end. */
class SpeakingWorker implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #lines: string[] = [];
  #arrived = Promise.withResolvers<void>();

  constructor(url: string, pool: string, data: string) {
    const script = `
      const { FleetConnection } = await import(${at("../connection/connect.ts")});
      const { Log } = await import(${at("../../base/log.ts")});
      const { subjectsOf } = await import(${at("../subjects.ts")});
      const { WorkerStore } = await import(${at("./worker-store.ts")});
      const connection = await FleetConnection.open({
        url: ${JSON.stringify(url)},
        subjects: subjectsOf(${JSON.stringify(pool)}),
        name: "speaking",
      });
      const store = await WorkerStore.open({
        connection,
        data: ${JSON.stringify(data)},
        isAlive: () => true,
        lost: (id) => console.log("lost " + id),
        log: new Log("error"),
      });
      const { key } = await store.create(${JSON.stringify(NEW)});
      for (let at = 1; ; at++) {
        try {
          await store.append(key, "agent", String(at)).stored;
        } catch {
          process.exit();
        }
        console.log("said " + at);
      }`;
    const args = ["--input-type=module", "-e", script];
    const stdio = ["ignore", "pipe", "inherit"] as const;
    this.#child = spawn(process.execPath, args, { stdio: [...stdio], cwd: import.meta.dirname });
    this.#ended = once(this.#child, "exit");
    const lines = createInterface({ input: this.#child.stdout as never });
    lines.on("line", (line) => {
      this.#lines.push(line);
      this.#arrived.resolve();
      this.#arrived = Promise.withResolvers();
    });
  }

  /** The last event that was acknowledged to it. */
  get acknowledged(): number {
    const said = this.#lines.filter((line) => line.startsWith("said "));
    return Number(said.at(-1)?.split(" ")[1] ?? 0);
  }

  async says(line: string): Promise<void> {
    while (!this.#lines.includes(line)) await this.#arrived.promise;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It ends when it has lost its session.
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}

function at(module: string): string {
  return JSON.stringify(new URL(module, import.meta.url).href);
}
