import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { COMMAND, EVENT } from "./control-frame.ts";
import { startEngineProcess } from "./quic-engine.ts";

/** A running engine, and what it tells. */
async function start() {
  const engine = await startEngineProcess();
  const told: { kind: number; id: number; text: string }[] = [];
  const changed: (() => void)[] = [];
  const gone = Promise.withResolvers<string>();
  engine.receive((kind, _, id, payload) => {
    told.push({ kind, id, text: payload.toString() });
    for (const resolve of changed.splice(0)) resolve();
  }, gone.resolve);
  const until = async (count: number): Promise<typeof told> => {
    while (told.length < count) await new Promise<void>((resolve) => changed.push(resolve));
    return told;
  };
  return { engine, until, gone: gone.promise };
}

const settings = (ca: string) =>
  Buffer.from(JSON.stringify({ host: "127.0.0.1", port: 1, tls: { ca, alpn: "x" } }));

describe("EngineProcess", { timeout: 60_000 }, () => {
  it("answers commands in order, small and large, and ends when asked to", async () => {
    const { engine, until, gone } = await start();
    const sizes = [10, 20_000, 60, 40_000, 15_000, 70_000];
    for (const [index, size] of sizes.entries()) {
      engine.send(COMMAND.dial, 0, 2 * (index + 1), settings("x".repeat(size)));
    }
    const told = await until(sizes.length);
    assert.deepEqual(
      told.map(({ kind, id }) => [kind, id]),
      sizes.map((_, index) => [EVENT.closed, 2 * (index + 1)]),
    );
    assert.ok(told.every(({ text }) => text.includes("the CA is no PEM")));
    await engine.end();
    assert.equal(await gone, "exit code 0");
  });

  it("reports the signal that ended it", async () => {
    const { engine, gone } = await start();
    process.kill(engine.pid, "SIGKILL");
    assert.equal(await gone, "SIGKILL");
    await engine.end();
  });

  it("reports its last stderr lines after its end", async () => {
    const { engine, gone } = await start();
    engine.send(COMMAND.dial, 0, 2, Buffer.from("this is no JSON"));
    assert.match(await gone, /^exit code 1: .*Error/);
    await engine.end();
  });
});
