import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "../../../test/support/quic-pair.ts";
import { BODY, load, TwoEngines } from "../../../test/support/two-engines.ts";
import { ConnectionError } from "./connection-error.ts";

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
