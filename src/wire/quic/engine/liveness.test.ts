import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { CHECKS, Liveness } from "./native-connection.ts";

const KEEP_ALIVE = 6_000;

/** A connection that is looked at some times in a keep-alive interval. */
class Watched {
  acks = 0;
  pings = 0;
  readonly liveness = new Liveness({ acks: () => this.acks, ping: () => this.pings++ }, KEEP_ALIVE);
  #now = KEEP_ALIVE;

  look(isWaiting = true): boolean {
    this.liveness.check((this.#now += KEEP_ALIVE / CHECKS), isWaiting);
    return this.liveness.isSilent;
  }
}

describe("Liveness", () => {
  it("calls a peer silent that has acknowledged nothing for an interval, until it does", () => {
    const one = new Watched();
    for (let look = 0; look <= CHECKS; look++) assert.equal(one.look(), false);
    assert.equal(one.look(), true);
    assert.equal(one.pings, CHECKS + 2);
    one.acks++;
    assert.equal(one.look(), false);
  });

  it("does not call a peer silent that sends data, which acknowledges little then", () => {
    const one = new Watched();
    for (let look = 0; look < 10; look++) {
      assert.equal(one.look(), false);
      one.liveness.heard();
    }
  });

  it("asks at each look while an answer is awaited, and else once in an interval", () => {
    const [waiting, idle] = [new Watched(), new Watched()];
    for (let look = 0; look < 2 * CHECKS; look++) {
      for (const one of [waiting, idle]) one.liveness.heard();
      waiting.look();
      idle.look(false);
    }
    assert.deepEqual([waiting.pings, idle.pings], [2 * CHECKS, 2]);
  });
});
