import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { oneIn, rounds } from "../support/full-run.ts";
import { denseMessages, LARGEST } from "./dense-messages.ts";
import { seeded } from "./fuzz-run.ts";
import { FuzzedPeer } from "./fuzzed-peer.ts";
import { HostileLines } from "./hostile-lines.ts";
import { Ledger } from "./ledger.ts";
import { bytesInUse } from "./memory.ts";
import { PEER_VOCABULARY } from "./vocabulary-peer.ts";

const MiB = 1024 * 1024;
const ROUNDS = rounds({ few: 2, all: 12 });
const TINY = rounds({ few: 100_000, all: 1_000_000 });

const prototypes = () =>
  [Object, Array, Function, String, Number].map(({ prototype }) => Reflect.ownKeys(prototype));

describe("a peer under hostile input", { timeout: 600_000 }, () => {
  it("gives every request exactly one answer, whatever is around it", async (t) => {
    const random = seeded(t);
    const before = prototypes();
    for (let round = 0; round < ROUNDS; round++) {
      await using fuzzed = new FuzzedPeer({ keep: true });
      const bytes = new HostileLines(random, PEER_VOCABULARY).lines(1000);
      const ledger = new Ledger({ batches: true });
      ledger.sent(bytes);
      for (const chunk of random.cut(bytes, 1 + random.below(5000))) fuzzed.push(chunk);
      await fuzzed.settled();
      for (const answer of fuzzed.answers) ledger.came(answer);
      const { missing, surplus, nameless, unclear } = ledger;
      assert.deepEqual([missing, surplus], [[], []], `round ${round}`);
      const { came, due } = nameless;
      assert.ok(came >= due && came <= due + unclear, `round ${round}: ${came} of ${due}`);
    }
    assert.deepEqual(prototypes(), before);
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  });

  it("survives random bytes", async (t) => {
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

  it(`answers ${TINY} tiny messages, in bounded memory`, async () => {
    await using fuzzed = new FuzzedPeer();
    await fuzzed.settled();
    const before = bytesInUse();
    const tiny = ["5", "{}", `{"jsonrpc":"2.0","method":"now"}`, "", `{"id":1,"result":0}`];
    const chunk = Buffer.from(`${tiny.join("\n")}\n`.repeat(2000));
    for (let sent = 0; sent < TINY; sent += 10_000) {
      fuzzed.push(chunk);
      await fuzzed.settled();
    }
    assert.equal(fuzzed.count, 0.4 * TINY);
    assert.ok(bytesInUse() - before < 10 * MiB);
  });

  it("keeps nothing of the largest messages", async (t) => {
    await using fuzzed = new FuzzedPeer({ limits: { maxMessage: LARGEST }, keep: true });
    await fuzzed.settled();
    const before = bytesInUse();
    for (const [name, id, line] of denseMessages(LARGEST, oneIn(10, seeded(t, 9)))) {
      fuzzed.answers.length = 0;
      fuzzed.push(line);
      await fuzzed.settled();
      assert.equal(fuzzed.answers.length, 1, `${name}: ${fuzzed.answers.length} answers`);
      const answer = JSON.parse(fuzzed.answers[0] ?? "") as { id: unknown } | unknown[];
      if (!Array.isArray(answer)) assert.equal(answer.id, id, name);
    }
    fuzzed.answers.length = 0;
    const kept = bytesInUse() - before;
    assert.ok(kept < 10 * MiB, `${kept} bytes were kept`);
  });
});
