import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import type { Verdict } from "./jwt-verifier.ts";
import { verifiedBy } from "./verifications.ts";

const WRONG: Verdict = { kind: "invalid", why: "it is wrong" };

function good(until: number): Verdict {
  return { kind: "valid", issuer: "https://login.example.com", subject: "ann", until };
}

/** A verifier that takes a turn of the event loop for each token, and counts. */
class Setup {
  now = 1_000_000;
  readonly seen: string[] = [];
  atOnce = 0;
  most = 0;
  readonly verifications = verifiedBy({
    load: async () => ({ verify: (token) => this.#verify(token) }),
    now: () => this.now,
  });

  async #verify(token: string): Promise<Verdict> {
    this.seen.push(token);
    this.most = Math.max(this.most, ++this.atOnce);
    await turn();
    this.atOnce--;
    return token.startsWith("good") ? good(this.now + 300_000) : WRONG;
  }
}

describe("verifiedBy()", () => {
  it("lets a valid token wait behind any number of wrong ones, and never refuses it", async () => {
    const setup = new Setup();
    const before = Array.from({ length: 1000 }, (_, n) => setup.verifications.verify(`bad ${n}`));
    const found = Promise.resolve(setup.verifications.verify("good"));
    const order: string[] = [];
    void found.then(() => order.push("good"));
    const after = Array.from({ length: 1000 }, (_, n) => setup.verifications.verify(`late ${n}`));
    void Promise.resolve(after.at(0)).then(() => order.push("late"));
    assert.equal((await found).kind, "valid");
    await Promise.all([...before, ...after]);
    // First come, first served.
    assert.deepEqual(order, ["good", "late"]);
    assert.ok(setup.most <= 8, `${setup.most} at once`);
    // Wrong ones have no good one forgotten.
    const seen = setup.seen.length;
    await setup.verifications.verify("good");
    assert.equal(setup.seen.length, seen);
  });

  it("verifies the same token once at a time, and caches the result for a while", async () => {
    const setup = new Setup();
    const all = ["good", "good", "bad", "bad"].map(async (token) =>
      setup.verifications.verify(token),
    );
    await Promise.all(all);
    assert.deepEqual(setup.seen.toSorted(), ["bad", "good"]);
    setup.now += 6_000;
    await setup.verifications.verify("good");
    await setup.verifications.verify("bad");
    assert.deepEqual(setup.seen.toSorted(), ["bad", "bad", "good"]);
    setup.now += 60_000;
    await setup.verifications.verify("good");
    assert.equal(setup.seen.length, 4);
  });

  it("tries again after a verification that failed to run", async () => {
    let fails = true;
    const verifications = verifiedBy({
      load: async () => {
        if (fails) throw new Error("It cannot be loaded");
        return { verify: async () => good(Date.now() + 600_000) };
      },
    });
    await assert.rejects(async () => verifications.verify("good"));
    fails = false;
    assert.equal((await verifications.verify("good")).kind, "valid");
  });
});
