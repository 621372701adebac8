import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { covers } from "../../../test/support/requirement.ts";
import { ask, testCredentials } from "../../../test/support/quic-pair.ts";
import { BODY, load, TwoEngines } from "../../../test/support/two-engines.ts";
import { ConnectionError } from "./connection-error.ts";

for (const signal of ["SIGKILL", "SIGSEGV"] as const) {
  test(`a client's engine that dies of ${signal} under load loses only its connections`, async () => {
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
}

test("a connection is closed when its peer falls silent", async () => {
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

test("an unused connection is kept alive", async () => {
  covers("bus.quic.keep-alive");
  await using both = await new TwoEngines({ keepAlive: 1_000, idleTimeout: 3_000 }).listen();
  const connection = await both.connect();
  let isClosed = false;
  void connection.closed.then(() => (isClosed = true));
  // Longer than the idle timeout, which is what is tried.
  await new Promise((resolve) => setTimeout(resolve, 4_500));
  assert.equal(isClosed, false);
  assert.deepEqual(await ask(connection, BODY), BODY);
});

test("the engine ends with its last connection, and with the program", async () => {
  const both = await new TwoEngines().listen();
  const connection = await both.connect();
  const pids = [await both.client.pid(), await both.server.pid()];
  await connection.close();
  await both.listener[Symbol.asyncDispose]();
  for (const pid of pids) await gone(pid ?? 0);

  const { spawn } = await import("node:child_process");
  const script = `
    const { listen } = await import(${JSON.stringify(import.meta.resolve("./transport.ts"))});
    const { sharedEngine } = await import(${JSON.stringify(import.meta.resolve("./quic-engine.ts"))});
    const credentials = JSON.parse(process.env.CREDENTIALS);
    await listen("quic://127.0.0.1:0", { credentials, stream() {} });
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
