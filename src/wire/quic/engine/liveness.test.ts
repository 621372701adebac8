import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Liveness, SOON } from "./native-connection.ts";

/** A client that waits for an answer, and looks ten times in a second whether the peer is there. */
class Waiting {
  acks = 0;
  pings = 0;
  readonly liveness = new Liveness({ acks: () => this.acks, ping: () => this.pings++ }, 6_000);
  #now = 1_000;

  look(): boolean {
    this.liveness.check((this.#now += SOON), true);
    return this.liveness.isQuiet;
  }
}

describe("Liveness", () => {
  it("calls a peer quiet that has acknowledged nothing twice in a row, until it does", () => {
    const client = new Waiting();
    assert.deepEqual([client.look(), client.look(), client.look()], [false, false, true]);
    assert.equal(client.pings, 3);
    client.acks++;
    assert.equal(client.look(), false);
  });

  it("does not call a peer quiet that sends data, which acknowledges little then", () => {
    const client = new Waiting();
    for (let look = 0; look < 10; look++) {
      assert.equal(client.look(), false);
      client.liveness.heard();
    }
    assert.deepEqual([client.look(), client.look(), client.look()], [false, false, true]);
  });
});
