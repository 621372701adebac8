import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { SeededRandom } from "../support/seeded-random.ts";
import { denseMessages, LARGEST } from "./dense-messages.ts";
import { answersOf, expectedAnswers } from "./expected-answers.ts";
import { FuzzedPeer } from "./fuzzed-peer.ts";
import { hostileLines } from "./hostile-lines.ts";
import { bytesInUse } from "./memory.ts";

const MiB = 1024 * 1024;
/** No message may hold the thread for longer. */
const MAX_CPU = 50;
/** The machine is shared; a slow run is repeated before it counts. */
const ATTEMPTS = 8;

function seeded(t: TestContext): SeededRandom {
  const seed = Number(process.env.TRUNKLINE_FUZZ_SEED ?? 20_260_728);
  t.diagnostic(`seed ${seed}; set TRUNKLINE_FUZZ_SEED for another`);
  return new SeededRandom(seed);
}

const prototypes = () =>
  [Object, Array, Function, String, Number].map(({ prototype }) => Reflect.ownKeys(prototype));

describe("a peer under hostile input", { timeout: 120_000 }, () => {
  it("gives every request exactly one answer, whatever stands around it", async (t) => {
    const random = seeded(t);
    const before = prototypes();
    for (let round = 0; round < 30; round++) {
      await using fuzzed = new FuzzedPeer({ keep: true });
      const bytes = hostileLines(random, 1000);
      for (const chunk of random.cut(bytes, 1 + random.below(5000))) fuzzed.push(chunk);
      await fuzzed.settled();
      const came = answersOf(fuzzed.answers);
      const { due, unclear } = expectedAnswers(bytes);
      const [nameless, expected] = [came.get("null") ?? 0, due.get("null") ?? 0];
      assert.ok(nameless >= expected && nameless <= expected + unclear, `round ${round}`);
      came.delete("null");
      due.delete("null");
      assert.deepEqual(came, due, `round ${round}`);
    }
    assert.deepEqual(prototypes(), before);
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  });

  it("survives plain noise", async (t) => {
    const random = seeded(t);
    await using fuzzed = new FuzzedPeer();
    for (let i = 0; i < 20; i++) fuzzed.push(random.bytes(64 * 1024));
    await fuzzed.settled();
    assert.ok(fuzzed.count > 1000, `${fuzzed.count} answers`);
  });

  it("skips a line that never ends, in bounded memory", async () => {
    await using fuzzed = new FuzzedPeer({ limits: { maxMessage: MiB }, keep: true });
    await fuzzed.settled();
    const chunk = Buffer.alloc(MiB, `{"jsonrpc":"2.0","id":1,`);
    const before = bytesInUse();
    for (let i = 0; i < 256; i++) {
      fuzzed.push(chunk);
      if (i % 64 === 63) assert.ok(bytesInUse() - before < 5 * MiB, `after ${i} MiB`);
    }
    await fuzzed.settled();
    assert.equal(fuzzed.answers.length, 1);
    assert.match(fuzzed.answers[0] ?? "", /"id":1,"error":\{"code":-32600/);
  });

  it("answers a million tiny messages, in bounded memory", async () => {
    await using fuzzed = new FuzzedPeer();
    await fuzzed.settled();
    const before = bytesInUse();
    const tiny = ["5", "{}", `{"jsonrpc":"2.0","method":"now"}`, "", `{"id":1,"result":0}`];
    const chunk = Buffer.from(`${tiny.join("\n")}\n`.repeat(2000));
    for (let sent = 0; sent < 1_000_000; sent += 10_000) {
      fuzzed.push(chunk);
      await fuzzed.settled();
    }
    assert.equal(fuzzed.count, 400_000);
    assert.ok(bytesInUse() - before < 10 * MiB);
  });

  it(`spends at most ${MAX_CPU} ms on any one message, and keeps nothing of it`, async (t) => {
    await using fuzzed = new FuzzedPeer({ limits: { maxMessage: LARGEST }, keep: true });
    // Warm-up: what is measured is the code as it runs after a while.
    for (let round = 0; round < 20; round++) {
      for (const [, , line] of denseMessages(100_000)) fuzzed.push(line);
      await fuzzed.settled();
    }
    const before = bytesInUse();
    let worst = { name: "", cpu: 0 };
    for (const [name, id, line] of denseMessages(LARGEST)) {
      const cpu = await cheapest(async () => {
        fuzzed.answers.length = 0;
        fuzzed.push(line);
        await fuzzed.settled();
      });
      assert.ok(cpu <= MAX_CPU, `${name}: ${cpu} ms`);
      if (cpu > worst.cpu) worst = { name, cpu };
      assert.equal(fuzzed.answers.length, 1, `${name}: ${fuzzed.answers.length} answers`);
      const answer = JSON.parse(fuzzed.answers[0] ?? "") as { id: unknown } | unknown[];
      if (!Array.isArray(answer)) assert.equal(answer.id, id, name);
    }
    fuzzed.answers.length = 0;
    t.diagnostic(`worst: ${worst.name}, ${worst.cpu.toFixed(1)} ms`);
    const kept = bytesInUse() - before;
    assert.ok(kept < 10 * MiB, `${kept} bytes were kept`);
  });
});

/** Milliseconds of this thread's CPU that the work takes. */
async function cheapest(work: () => Promise<void>): Promise<number> {
  let best = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS && best > MAX_CPU; attempt++) {
    const started = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(started);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}
