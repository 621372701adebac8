import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SignalStop, type Stop, Stopper } from "./stop.ts";

class Listener {
  readonly heard: string[] = [];
  stopped({ message }: Error): void {
    this.heard.push(message);
  }
}

/** Each kind of stop, and how it comes. */
const KINDS: Record<string, () => { stop: Stop; come: (reason: Error) => void }> = {
  Stopper: () => {
    const stop = new Stopper();
    return { stop, come: (reason) => stop.stop(reason) };
  },
  SignalStop: () => {
    const controller = new AbortController();
    return {
      stop: new SignalStop(controller.signal),
      come: (reason) => controller.abort(reason),
    };
  },
};

for (const [name, make] of Object.entries(KINDS)) {
  describe(name, () => {
    it("notifies every listener once", () => {
      const { stop, come } = make();
      const [first, second, gone] = [new Listener(), new Listener(), new Listener()];
      for (const listener of [first, second, gone]) stop.add(listener);
      stop.remove(gone);
      come(new Error("enough"));
      come(new Error("again"));
      assert.deepEqual([first.heard, second.heard, gone.heard], [["enough"], ["enough"], []]);
    });

    it("notifies a later listener at once", () => {
      const { stop, come } = make();
      come(new Error("enough"));
      const late = new Listener();
      stop.add(late);
      assert.deepEqual(late.heard, ["enough"]);
    });

    it("has a signal, whether it is requested before or after", () => {
      for (const isBefore of [true, false]) {
        const { stop, come } = make();
        const before = isBefore ? stop.signal : undefined;
        const reason = new Error("enough");
        come(reason);
        assert.equal((before ?? stop.signal).reason, reason);
      }
    });

    it("lets one listener remove another while they are notified", () => {
      const { stop, come } = make();
      const second = new Listener();
      stop.add({ stopped: () => stop.remove(second) });
      stop.add(second);
      come(new Error("enough"));
      assert.ok(second.heard.length <= 1);
    });
  });
}

describe("SignalStop", () => {
  it("converts a reason that is not an error into one", () => {
    const listener = new Listener();
    new SignalStop(AbortSignal.abort("just so")).add(listener);
    assert.deepEqual(listener.heard, ["just so"]);
  });
});
