import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ask } from "../../../test/support/quic-pair.ts";
import { BODY, load, TwoEngines } from "../../../test/support/two-engines.ts";
import { ConnectionError } from "./connection-error.ts";
import { engineSession, type ListenerEvents } from "./quic-engine.ts";
import { QuicEngine } from "./quic-engine.ts";
import { openQuicListener } from "./quic-listener.ts";
import { ScriptedEngine } from "../../../test/support/scripted-engine.ts";

for (const signal of ["SIGKILL", "SIGSEGV"] as const) {
  test(`a listener whose engine dies of ${signal} under load listens again at its address`, async () => {
    await using both = await new TwoEngines().listen();
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

test("a listener takes its address again at once, and later if that engine dies soon", async (t) => {
  // The timers of engines that are still ending are cleared with the clock that they were set with.
  while (process.getActiveResourcesInfo().includes("ProcessWrap")) await nextTurn();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const engine = new QuicEngine();
  let listening: ListenerEvents | undefined;
  let times = 0;
  // Stands for the engine: each listener listens at once.
  t.mock.method(engine, "listen", async (_: unknown, listener: ListenerEvents) => {
    times += 1;
    listening = listener;
    listener.listening(1234);
    return [engineSession(new ScriptedEngine(), () => {}), 1] as const;
  });
  const options = { credentials: { ca: "" }, stream: () => {} };
  const listener = await openQuicListener("127.0.0.1", 0, options, engine);
  const die = async (): Promise<void> => {
    await nextTurn();
    listening?.closed({ trouble: "engine", detail: "it was killed" });
  };
  await die();
  t.mock.timers.tick(1);
  assert.equal(times, 2);
  await die();
  t.mock.timers.tick(10);
  assert.equal(times, 2);
  t.mock.timers.tick(50);
  assert.equal(times, 3);
  await die();
  await listener[Symbol.asyncDispose]();
});
