import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Heartbeat } from "./heartbeat.ts";

const INTERVAL = 20;

/** The other side of a link, which answers or not. */
class Rig implements Disposable {
  answers = true;
  isWaiting = true;
  isStopped = true;
  beats = 0;
  readonly silent = Promise.withResolvers<void>();
  isSilent = false;
  readonly heartbeat: Heartbeat;

  constructor() {
    this.heartbeat = new Heartbeat({
      interval: INTERVAL,
      isWaiting: () => this.isWaiting,
      isStopped: async () => this.isStopped,
      beat: () => {
        this.beats++;
        if (this.answers) this.heartbeat.heard();
      },
      silent: () => {
        this.isSilent = true;
        this.silent.resolve();
      },
    });
  }

  /** So long that it would have been given up several times. */
  async pass(): Promise<void> {
    await delay(40 * INTERVAL);
  }

  [Symbol.dispose](): void {
    this.heartbeat[Symbol.dispose]();
  }
}

/** Nothing of this process runs, as while it is stopped or its machine sleeps. */
function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

describe("Heartbeat", { timeout: 60_000 }, () => {
  it("gives up who does not answer, sooner if it is stopped", async () => {
    using stopped = new Rig();
    using busy = new Rig();
    stopped.answers = busy.answers = false;
    busy.isStopped = false;
    await stopped.silent.promise;
    assert.ok(!busy.isSilent);
    await busy.silent.promise;
  });

  it("keeps who answers, who is not waited for, and whom we do not read", async () => {
    using answering = new Rig();
    using idle = new Rig();
    using unread = new Rig();
    idle.answers = unread.answers = false;
    idle.isWaiting = false;
    const reads = Promise.withResolvers<void>();
    unread.heartbeat.heard(reads.promise);
    await answering.pass();
    assert.deepEqual([answering.isSilent, idle.isSilent, unread.isSilent], [false, false, false]);
    assert.ok(answering.beats > 0);
    assert.equal(idle.beats, 0);
    reads.resolve();
    await unread.silent.promise;
  });

  it("does not count the time in which this side slept", async () => {
    using rig = new Rig();
    rig.answers = false;
    for (let night = 0; night < 30; night++) {
      sleep(3 * INTERVAL);
      await delay(0);
    }
    assert.equal(rig.isSilent, false);
    await rig.silent.promise;
  });
});
