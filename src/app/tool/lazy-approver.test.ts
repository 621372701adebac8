import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Approvals } from "../../store/approval/approvals.ts";
import { LazyApprover } from "./open-tools.ts";

const TOOL = { name: "t", inputSchema: { type: "object" } } as const;

/** Approvals that hold everything, and can be made to change. */
class Held {
  isOver = false;
  changed: () => void = () => {};
  judge = () => "held" as const;
  why = () => "changed" as const;
  vouches = () => false;
  onChange(listener: () => void): () => void {
    this.changed = listener;
    return () => {};
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.isOver = true;
  }
}

function lazyOver(held: Held): { approver: LazyApprover; loads: () => number } {
  let loads = 0;
  const approver = new LazyApprover(async () => {
    loads++;
    return held as unknown as Approvals;
  });
  return { approver, loads: () => loads };
}

describe("LazyApprover", () => {
  it("holds every tool until it is opened", () => {
    const { approver } = lazyOver(new Held());
    assert.equal(approver.judge("s", TOOL), "held");
    assert.equal(approver.why("s", "t"), "new");
    assert.equal(approver.vouches("s", TOOL), false);
  });

  it("loads the approvals once, and announces their changes", async () => {
    const held = new Held();
    const { approver, loads } = lazyOver(held);
    let changes = 0;
    const stop = approver.onChange(() => changes++);
    await approver.ready();
    await approver.ready();
    assert.equal(loads(), 1);
    assert.equal(changes, 0);
    assert.equal(approver.judge("s", TOOL), "held");
    assert.equal(approver.why("s", "t"), "changed");
    held.changed();
    assert.equal(changes, 1);
    stop();
    held.changed();
    assert.equal(changes, 1);
  });

  it("closes only what it opened", async () => {
    const held = new Held();
    {
      await using approver = lazyOver(held).approver;
      assert.equal(approver.approvals, undefined);
    }
    assert.equal(held.isOver, false);
    {
      await using approver = lazyOver(held).approver;
      await approver.ready();
    }
    assert.equal(held.isOver, true);
  });
});
